"""What evidence looks like: question → ranked paths → where they lead, and the triples that say why."""

from __future__ import annotations

import hashlib

from ..database.browser_view import Picture, PictureArrow, PictureNode
from ..evidence.bridges import to_chains
from ..evidence.chain import Chain
from ..evidence.evidence import Evidence, Item
from ..values import Entity, Path, Question, Scored, Triple

MAX_PATHS = 3
MAX_INSTANCES = 5


def question_id(question: Question) -> str:
    """Return the id of a question's picture: the same for the same text and topic entities."""
    key = "\n".join((question.text, *question.topic_entities))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def picture_of(evidence: Evidence[Item], max_paths: int = MAX_PATHS, max_instances: int = MAX_INSTANCES) -> Picture:
    """Return the picture of the best `max_paths` paths, each with at most `max_instances` of its entity paths.

    An entity is one node, whichever paths it is on; what is left out is a node that says how much.
    """
    chains = to_chains(evidence)
    drawing = _Drawing(chains.question)
    shown = [(path, path.value.instances(max_instances)) for path in chains.items[:max_paths]]
    instances = [instance for _, some in shown for instance in some]
    drawing.add_entities(chains, instances)
    for rank, (path, some) in enumerate(shown, start=1):
        drawing.add_path(rank, path, some)
    drawing.add_triples(shown)
    if left_out := len(chains.items) - len(shown):
        drawing.add_rest(0, f"and {left_out:,} more {'path' if left_out == 1 else 'paths'}")
    return Picture(question_id(chains.question), tuple(drawing.nodes), tuple(drawing.arrows))


class _Drawing:
    """A picture in the making; the question is node 0."""

    def __init__(self, question: Question) -> None:
        self.nodes = [PictureNode("LodestarQuestion", question.text)]
        self.arrows: list[PictureArrow] = []
        self._index: dict[Entity, int] = {}

    def add_entities(self, evidence: Evidence[Chain], instances: list[Path]) -> None:
        """Add the entities, and an arrow from the question to each topic entity."""
        topics = {instance.start for instance in instances}
        ends = {instance.end for instance in instances}
        for entity in dict.fromkeys(entity for instance in instances for entity in instance.entities):
            label = "LodestarTopic" if entity in topics else "LodestarEnd" if entity in ends else "LodestarInner"
            self._index[entity] = self._add(entity_node(label, entity))
        scores = {topic.entity: topic.score for topic in evidence.topics}
        for entity, index in self._index.items():
            if entity in topics:
                properties = {"score": scores[entity]} if entity in scores else {}
                self.arrows.append(PictureArrow(0, index, "LODESTAR_ABOUT", properties))

    def add_path(self, rank: int, path: Scored[Chain], instances: tuple[Path, ...]) -> None:
        """Add a path with its rank and score, between the question and where its entity paths lead."""
        ranked = {"rank": rank, "score": path.score}
        node = PictureNode(
            "LodestarPath",
            f"{rank} · {path.score:.3f}",
            ranked | {"relation_path": str(path.value.relation_path)},
        )
        index = self._add(node)
        self.arrows.append(PictureArrow(0, index, "LODESTAR_PATH", ranked))
        for end in dict.fromkeys(instance.end for instance in instances):
            self.arrows.append(PictureArrow(index, self._index[end], "LODESTAR_LEADS_TO"))
        left_out = len(path.value.ends) - len(instances)
        if left_out or path.value.cut:
            number = f"{left_out:,}{'+' if path.value.cut else ''} " if left_out else ""
            self.add_rest(index, f"and {number}more")

    def add_triples(self, shown: list[tuple[Scored[Chain], tuple[Path, ...]]]) -> None:
        """Add each triple once, with the ranks of the paths that it is on."""
        ranks: dict[Triple, list[int]] = {}
        for rank, (_, instances) in enumerate(shown, start=1):
            for triple in dict.fromkeys(triple for instance in instances for triple in instance.triples):
                ranks.setdefault(triple, []).append(rank)
        for triple, paths in ranks.items():
            head, tail = self._index[triple.head], self._index[triple.tail]
            self.arrows.append(PictureArrow(head, tail, triple.relation, {"paths": paths}))

    def add_rest(self, of: int, words: str) -> None:
        """Add a node that says what is not drawn."""
        self.arrows.append(PictureArrow(of, self._add(PictureNode("LodestarRest", words)), "LODESTAR_REST"))

    def _add(self, node: PictureNode) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1


def entity_node(label: str, entity: Entity) -> PictureNode:
    """Return the node of an entity or a literal."""
    if entity.is_literal:
        return PictureNode(label, entity.label, literal=entity.id)
    return PictureNode(label, entity.label, id=entity.id)
