"""A spaCy pipeline that recognises some names, in a folder: real ones are too large for tests."""

from __future__ import annotations

from pathlib import Path


def save_pipeline(folder: Path, *names: str) -> str:
    """Write a pipeline whose entities are these names in any case; return its folder."""
    import spacy

    made = spacy.blank("xx")
    ruler = made.add_pipe("entity_ruler", config={"phrase_matcher_attr": "LOWER"})
    ruler.add_patterns([{"label": "NAME", "pattern": name} for name in names])
    path = folder / "pipeline"
    made.to_disk(path)
    return str(path)
