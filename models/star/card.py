"""What a STAR checkpoint's model card says of the model."""

from __future__ import annotations

from collections.abc import Mapping

from ..training.card import model_card
from ..training.loop import Trained
from .checkpoint import Description
from .learning.figures import NAMES


def star_card(description: Description, trained: Mapping[str, Trained]) -> str:
    """Return the card as Markdown."""
    about = (
        "Scores relation paths of a knowledge graph against a question, after STAR (cross-attentive path scoring with "
        f"hard path mining). Scorer: `{description.scorer}`; encoder: `{description.encoder}`; weight of the cross-"
        f"attentive scorer beside the dual encoder: {description.mix:g}, over the best {description.shortlist} paths.",
        f"{_use(description)} The figures below are of the first path, over the dev questions that have a path to an "
        "answer, which chose the weight as well.",
    )
    return model_card("STAR path scorer", about, description, trained, NAMES, description.pairs)


def _use(description: Description) -> str:
    """Return where the checkpoint is for, and of what its figures say nothing."""
    use = "Use it with `lodestar ask --checkpoint FOLDER`, "
    if not description.any_graph:
        return f"{use}on the graph it was trained on."
    number = len(description.graphs)
    graphs = "one graph" if number == 1 else f"{number} graphs"
    return (
        f"{use}on any graph: it reads the words of relations and knows no relation by its number. It was trained on "
        f"{graphs}; how good it is on a graph that it has never seen, and how far its probabilities hold there, no "
        "figure below says: measure it on questions about that graph (`lodestar eval`)."
    )
