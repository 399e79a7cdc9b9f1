"""Find the concepts of a text with a spaCy pipeline, GLiNER, a list of names or recurring phrases.

The paper uses scispaCy's named entities (GRIL, appendix A) and calls the recogniser exchangeable.

GLiNER reads a number of words and drops the rest without an error, and its encoder a number of word pieces. So longer
texts are split in two, at the end of a sentence if possible, until each part fits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...engine.errors import InputError, UsageError
from ...engine.extras import translate_import_errors
from ...engine.linking.names import Token, mark_content_words, tokenise
from ...models.message_text import quote_line
from ...models.words import fold
from ..rows import split_batches

if TYPE_CHECKING:
    from spacy.language import Language


MAX_PHRASE_WORDS = 4
MIN_SNIPPETS = 2
"""The number of snippets a phrase must occur in, unless it is written as a name."""
MIN_LETTERS = 3
_SNIPPETS_AT_ONCE = 64
LABELS = (
    "person",
    "organization",
    "location",
    "event",
    "work",
    "product",
    "disease",
    "symptom",
    "drug",
    "organism",
    "chemical",
    "method",
)
"""The default entity types. Ours."""
THRESHOLD = 0.5
"""GLiNER's own."""
_WORD = re.compile(r"\w+(?:[-_]\w+)*|\S")
"""GLiNER's definition of a word."""
_MAX_WORDS = 384
_MAX_PIECES = 512
_GLINER_SNIPPETS_AT_ONCE = 16
_FILES = ["*.json", "*.safetensors", "*.model", "*.txt"]


class ConceptFinder(Protocol):
    """Finds concepts as they are spelled, in order; one may occur twice."""

    @property
    def options(self) -> Mapping[str, str]:
        """The options that change what it finds."""
        ...

    @property
    def learns(self) -> bool:
        """Whether `learn` must see all snippets before the first search."""
        ...

    def learn(self, snippets: Iterable[str]) -> None:
        """Read all snippets before the search."""
        ...

    def find(self, snippets: Iterable[str]) -> Iterator[list[str]]:
        """Yield the concepts of each snippet."""
        ...


def concept_id(concept: str) -> str:
    """Return the common id of all spellings of a concept: no case, no accents, single blanks."""
    return " ".join(fold(concept).replace("\0", " ").split())


class SpacyConcepts:
    """Named entities of a spaCy pipeline, installed or in a folder; noun chunks if it has no entities.

    Raises `UsageError` if spaCy or the pipeline is not installed, or the pipeline finds neither.
    """

    learns = False

    def __init__(self, name: str) -> None:
        self._pipeline = _load_pipeline(name)
        found = set(self._pipeline.pipe_names)
        finds_entities = any("doc.ents" in self._pipeline.get_pipe_meta(each).assigns for each in found)
        self._by_chunks = not finds_entities and "parser" in found
        if not finds_entities and not self._by_chunks:
            named = ", ".join(self._pipeline.pipe_names) or "nothing"
            raise UsageError(f"--pipeline {name}: expected one that finds entities or noun chunks, it has {named}")
        meta = self._pipeline.meta
        self.options: Mapping[str, str] = {"pipeline": f"{meta['lang']}_{meta['name']} {meta['version']}"}

    def learn(self, snippets: Iterable[str]) -> None:
        """Do nothing: there is nothing to learn."""

    def find(self, snippets: Iterable[str]) -> Iterator[list[str]]:
        """Yield the entities or noun chunks of each snippet."""
        for read in self._pipeline.pipe(snippets, batch_size=_SNIPPETS_AT_ONCE):
            spans = read.noun_chunks if self._by_chunks else read.ents
            yield [span.text for span in spans]


def _load_pipeline(name: str) -> Language:
    with translate_import_errors("--pipeline"):
        import spacy
    try:
        return spacy.load(name)
    except OSError as error:
        if Path(name).exists():
            raise InputError(f"{name}: expected the folder of a spaCy pipeline, found another one") from error
        raise UsageError(
            f"--pipeline {name}: not installed; python -m spacy download {name}, or name the folder of one"
        ) from error


class GlinerConcepts:
    """Entities of a GLiNER model, in a folder or by name. labels: the types to find.

    Raises `UsageError` if GLiNER is not installed or the model is unavailable.
    """

    learns = False

    def __init__(self, name: str, labels: Sequence[str] = LABELS) -> None:
        self._labels = list(labels)
        self._model = _load_gliner(name)
        config = self._model.config
        self._max_words = int(getattr(config, "max_len", _MAX_WORDS))
        tokenizer = getattr(getattr(self._model, "data_processor", None), "transformer_tokenizer", None)
        self._tokenizer: Any = tokenizer
        longest = int(getattr(tokenizer, "model_max_length", _MAX_PIECES) or _MAX_PIECES)
        self._max_pieces = min(longest, _MAX_PIECES) - self._pieces(" ".join(self._labels)) - 2 * len(self._labels) - 2
        if self._max_pieces < 1:
            raise UsageError(f"--labels: {name} cannot read {len(self._labels)} labels with a text: give fewer")
        self.options: Mapping[str, str] = {"gliner": name, "labels": ", ".join(self._labels)}

    def learn(self, snippets: Iterable[str]) -> None:
        """Do nothing: there is nothing to learn."""

    def find(self, snippets: Iterable[str]) -> Iterator[list[str]]:
        """Yield the entities of each snippet."""
        for some in split_batches(snippets, _GLINER_SNIPPETS_AT_ONCE):
            parts = [list(self.windows(snippet)) for snippet in some]
            texts = [text for each in parts for text in each]
            found = iter(self._model.inference(texts, self._labels, threshold=THRESHOLD) if texts else [])
            for each in parts:
                yield [str(entity["text"]) for _ in each for entity in next(found)]

    def windows(self, text: str) -> Iterator[str]:
        """Yield a text in parts that the model reads whole."""
        if self._is_read_whole(text) or len(text) <= 1:
            if text.strip():
                yield text
            return
        cut = _middle(text)
        yield from self.windows(text[:cut])
        yield from self.windows(text[cut:])

    def _is_read_whole(self, text: str) -> bool:
        return len(_WORD.findall(text)) <= self._max_words and self._pieces(text) <= self._max_pieces

    def _pieces(self, text: str) -> int:
        """Return the number of word pieces of a text; without a tokenizer, a third of its characters."""
        if self._tokenizer is None:
            return len(text) // 3
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])


def _middle(text: str) -> int:
    """Return where to split: the end of a sentence, else a blank, nearest to the middle and within the middle half."""
    quarter = len(text) // 4
    for pattern in (r"[.!?]\s", r"\s"):
        ends = [match.end() for match in re.finditer(pattern, text) if quarter < match.end() <= 3 * quarter]
        if ends:
            return min(ends, key=lambda end: abs(end - len(text) // 2))
    return max(1, len(text) // 2)


def _load_gliner(name: str) -> Any:
    try:
        from gliner import GLiNER  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UsageError("--gliner needs GLiNER, which is not installed: pip install gliner") from error
    try:
        folder = Path(name) if Path(name).is_dir() else Path(_fetch_model(name))
        if not any(folder.glob("*.safetensors")):
            raise InputError(f"--gliner {name}: expected weights as safetensors, found none")
        return GLiNER.from_pretrained(str(folder), local_files_only=True)
    except InputError:
        raise
    except Exception as error:  # any error of the hub, GLiNER or its encoder
        raise UsageError(
            f"--gliner {name}: cannot be loaded ({quote_line(str(error))[:200]}): give a folder, or a name that is in "
            "the local Hugging Face cache or on the hub"
        ) from error


def _fetch_model(name: str) -> str:
    from huggingface_hub import snapshot_download

    return str(snapshot_download(name, allow_patterns=_FILES))


class GazetteerConceptFinder:
    """The names of a list, wherever their words occur, the longest first; case and accents are ignored."""

    learns = False

    def __init__(self, names: Iterable[str], digest: str) -> None:
        words = (tuple(token.folded for token in tokenise(name)) for name in names)
        self._names = {each for each in words if each}
        self._longest = max(map(len, self._names), default=0)
        self.options: Mapping[str, str] = {"concepts": digest}

    def learn(self, snippets: Iterable[str]) -> None:
        """Do nothing: there is nothing to learn."""

    def find(self, snippets: Iterable[str]) -> Iterator[list[str]]:
        """Yield the listed names in each snippet."""
        for snippet in snippets:
            yield list(_longest_of(snippet, tokenise(snippet), self._names, self._longest))


class RecurringPhraseFinder:
    """Runs of content words, at most `MAX_PHRASE_WORDS`, that occur in two snippets or are written as names.

    A fallback without a pipeline: its phrases are noisier than a recogniser's entities. Candidates end at function
    words and at punctuation, as in RAKE (Rose et al., 2010); preferring the longest recurring one is our own choice.
    Function words are English.
    """

    learns = True
    options: Mapping[str, str] = {"phrases": f"{MAX_PHRASE_WORDS} words, {MIN_SNIPPETS} snippets"}

    def __init__(self) -> None:
        self._recurring: set[tuple[str, ...]] = set()

    def learn(self, snippets: Iterable[str]) -> None:
        """Count the snippets of each phrase."""
        counts: Counter[tuple[str, ...]] = Counter()
        for snippet in snippets:
            counts.update({phrase for run in _runs(snippet) for phrase in _phrases(run)})
        self._recurring = {phrase for phrase, count in counts.items() if count >= MIN_SNIPPETS}

    def find(self, snippets: Iterable[str]) -> Iterator[list[str]]:
        """Yield the phrases of each snippet."""
        for snippet in snippets:
            found: list[str] = []
            for run in _runs(snippet):
                names = {tuple(token.folded for token in name) for name in _names_in(run, snippet)}
                found += _longest_of(snippet, run, self._recurring | names, MAX_PHRASE_WORDS)
            yield found


def _runs(snippet: str) -> Iterator[list[Token]]:
    """Yield runs of content words with only blanks and hyphens between them."""
    run: list[Token] = []
    tokens = tokenise(snippet)
    for token, has_content in zip(tokens, mark_content_words(tokens), strict=True):
        if run and (not has_content or snippet[run[-1].end : token.start].strip(" -")):
            yield run
            run = []
        if has_content:
            run.append(token)
    if run:
        yield run


def _phrases(run: Sequence[Token]) -> Iterator[tuple[str, ...]]:
    words = [token.folded for token in run]
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + MAX_PHRASE_WORDS) + 1):
            if any(sum(map(str.isalpha, word)) >= MIN_LETTERS for word in words[start:end]):
                yield tuple(words[start:end])


def _names_in(run: Sequence[Token], snippet: str) -> Iterator[list[Token]]:
    """Yield adjacent capitalised words, except one alone at the start of a sentence."""
    name: list[Token] = []
    for token in [*run, None]:
        if token is not None and token.text[0].isupper() and len(name) < MAX_PHRASE_WORDS:
            name.append(token)
            continue
        starts = name and snippet[: name[0].start].rstrip()[-1:] in ("", ".", "!", "?", ":", "•")
        if name and (len(name) > 1 or not starts) and len(name[0].text) > 1:
            yield name
        name = [token] if token is not None and token.text[0].isupper() else []


def _longest_of(text: str, tokens: Sequence[Token], known: set[tuple[str, ...]], longest: int) -> Iterator[str]:
    """Yield the longest known runs of words from left to right, as spelled; a bracket among them is closed."""
    start = 0
    while start < len(tokens):
        for end in range(min(len(tokens), start + longest), start, -1):
            if tuple(token.folded for token in tokens[start:end]) in known:
                after = tokens[end - 1].end
                spelled = text[tokens[start].start : after]
                opens = spelled.count("(") > spelled.count(")")
                yield f"{spelled})" if opens and text.startswith(")", after) else spelled
                start = end
                break
        else:
            start += 1
