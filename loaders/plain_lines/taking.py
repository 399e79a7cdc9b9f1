"""The plain lines of files, taken into encoded files beside the parsing of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pyarrow as pa

from ..source import LinePart
from ..stage.queries import WantedRelations
from ..stage.rejects import Rejects
from .encoded_files import EncodedFiles
from .encoding import split_plain
from .working_ahead import mapped_ahead


class PlainLines:
    """Takes plain lines, `ahead` blocks of lines before they are asked for."""

    def __init__(self, files: EncodedFiles, wanted: WantedRelations, *, threads: int, ahead: int) -> None:
        self.files = files
        self._num_unwanted = self._num_noise = 0
        self._wanted = wanted
        self._threads = threads
        self._ahead = ahead

    @property
    def categories(self) -> Counter[str]:
        """How many plain lines were of which category."""
        return Counter({"triple": self.files.num_triples, "not wanted": self._num_unwanted, "noise": self._num_noise})

    def taken_from(self, part: LinePart, rejects: Rejects) -> Iterator[pa.RecordBatch]:
        """Yield the lines that the part's parser has to look at, a batch a block, which may be empty."""
        if part.plain is None:
            yield from part.file.batches(rejects.add)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            for split in mapped_ahead(pool, partial(split_plain, part.plain), part.file.blocks(), self._ahead):
                for reject in split.others.rejects:
                    rejects.add(*reject)
                wanted = self._wanted.among(split.triples.relations)
                kept = split.triples if wanted is None else split.triples.with_relations(wanted)
                self._num_noise += split.num_noise
                self._num_unwanted += len(split.triples) - len(kept)
                self.files.add(kept)
                yield split.others.as_batch()
