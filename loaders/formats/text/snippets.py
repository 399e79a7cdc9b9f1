"""Snippets: a document cut at paragraphs, lines and words into pieces of a length (GRIL, appendix A)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langchain_text_splitters import RecursiveCharacterTextSplitter

_BLOCK_CHARS = 1 << 20
"""What the splitter gets at once: its memory is a multiple of it."""


def snippets(text: str, length: int, overlap: int) -> Iterator[str]:
    """Yield the snippets of a document, of at most `length` characters, `overlap` of them shared with the one before.

    White space within a snippet becomes single blanks, and characters that no text has are left out. A run of
    characters without blanks that is longer than a snippet is cut first, ours: the splitter would weigh each of them.
    """
    endless = re.compile(rf"\S{{{length}}}(?=\S)")
    splitter = RecursiveCharacterTextSplitter(chunk_size=length, chunk_overlap=overlap)
    for block in _blocks(text):
        for snippet in splitter.split_text(endless.sub(r"\g<0> ", block)):
            if plain := " ".join(snippet.split()):
                yield plain


def _blocks(text: str) -> Iterator[str]:
    """Yield the text in blocks that end with a line or a word, where they have any."""
    start = 0
    while start < len(text):
        end = start + _BLOCK_CHARS
        if end < len(text):
            end = next((at + 1 for mark in "\n " if (at := text.rfind(mark, start, end)) > start), end)
        yield text[start:end]
        start = end
