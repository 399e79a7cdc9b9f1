"""Mine the candidate chains of each question (ReG's pools), and let a language model choose its supervision from them.

ReG, section 4.1 and appendices D.1 and D.2: all shortest paths from topics to answers, and the one-hop neighbourhoods
of the topics and the answers; then one representative answer is kept (answer merging), and paths with the same
relations are one candidate (relation-chain merging).

Our reading: paths ignore the direction of triples. The representative is the answer nearest to a topic, then the one
with the most paths, then the first by id. Chains from different topics are different.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic.dataclasses import dataclass

from ...models import Positive, one_line
from ...models.mined_files import (
    INVERSE,
    THROUGH,
    ChainKind,
    MinedFile,
    MinedFileError,
    PoolChain,
    PooledQuestion,
    PoolFile,
    PoolHeader,
    compute_mined_file_sha256,
    is_mined_file,
    read_mined_file,
    read_pool,
)
from ..errors import InputError, LLMError, UsageError
from ..gold_questions import (
    NO_PATH,
    GoldQuestion,
    GroundedQuestion,
    QuestionSet,
    SkippedQuestion,
    ground_questions,
)
from ..llm import MAX_REPLY_TOKENS, Completed, Message, Prompt, fill_placeholders, parse_numbers
from ..llm.gateway import ChatGateway
from ..neo4j.catalogue import read_catalogue
from ..neo4j.gateway import Gateway
from ..neo4j.graph_requests import RelationPathGroup, find_shortest_paths, read_one_hop_paths
from ..parallel import HERE, WorkerPool
from ..progress import Progress, ignore_progress
from ..relations import make_words_by_relation
from ..settings import Connection, Settings
from .mining import Mine, count_skipped_questions, mine_questions_in_batches

if TYPE_CHECKING:
    from ...models.training import TrainingFolder
    from ..api import Engine
    from ..training import Sets, TrainingRequest

CUTS = ("answers", "paths", "neighbours", "chains")


@dataclass(frozen=True, slots=True)
class PoolBounds:
    """Bounds; all are our own, and what they drop is counted. max_answers: answers of a question to search paths to.
    max_paths: per topic and answer. max_degree: triples of a topic or an answer. max_chains: candidates of a question
    after merging, paths before neighbourhoods.
    """

    max_answers: Positive = 20
    max_paths: Positive = 1_000
    max_degree: Positive = 20_000
    max_chains: Positive = 200


def collect_batch_pools(
    questions: Sequence[GoldQuestion], gateway: Gateway, options: PoolBounds
) -> list[PooledQuestion | SkippedQuestion]:
    """Return the pool of each question, or why it is left out; one round trip for all after the look-up."""
    places, _ = ground_questions(questions, gateway)
    asked: list[tuple[GroundedQuestion, tuple[str, ...], list[str]]] = []
    for each in places:
        if isinstance(each, GroundedQuestion):
            topics = tuple(topic.id for topic in each.topics)
            asked.append((each, topics, sorted(each.answers - set(topics))[: options.max_answers]))
    pairs = list(dict.fromkeys((topic, answer) for _, topics, ends in asked for topic in topics for answer in ends))
    ids = list(dict.fromkeys(id_ for _, topics, answers in asked for id_ in (*topics, *answers)))
    between, around = gateway.run_all(
        [find_shortest_paths(pairs, options.max_paths), read_one_hop_paths(ids, options.max_degree)]
    )
    paths = dict(zip(pairs, between, strict=True))
    found = (_pool(*each, paths, around, options) for each in asked)
    return [each if isinstance(each, SkippedQuestion) else next(found) for each in places]


def _pool(
    placed: GroundedQuestion,
    topics: tuple[str, ...],
    answers: Sequence[str],
    paths: Mapping[tuple[str, str], Sequence[RelationPathGroup]],
    around: Mapping[str, Sequence[RelationPathGroup]],
    options: PoolBounds,
) -> PooledQuestion | SkippedQuestion:
    led_to = [answer for answer in answers if any(paths[topic, answer] for topic in topics)]
    if not led_to:
        return SkippedQuestion(placed.question.id, NO_PATH)
    answer = min(led_to, key=lambda each: _near([paths[topic, each] for topic in topics]))
    kinds: list[tuple[ChainKind, str, Sequence[RelationPathGroup]]] = [
        *(("path", topic, paths[topic, answer]) for topic in topics),
        *(("query", topic, around.get(topic, ())) for topic in topics),
        ("answer", answer, around.get(answer, ())),
    ]
    chains: dict[tuple[str, tuple[str, ...]], PoolChain] = {}
    for kind, start, groups in kinds:
        for each in groups:
            chains.setdefault((start, each.steps), PoolChain(kind, start, each.steps, each.names, each.count))
    cuts = (
        len(placed.answers) - len(set(topics) & placed.answers) > len(answers),
        any(group.cut for topic in topics for each in answers for group in paths[topic, each]),
        any(group.cut for id_ in (*topics, *answers) for group in around.get(id_, ())),
        len(chains) > options.max_chains,
    )
    return PooledQuestion(
        placed.question.id,
        placed.question.text,
        topics,
        answer,
        tuple(chains.values())[: options.max_chains],
        tuple(name for name, is_cut in zip(CUTS, cuts, strict=True) if is_cut),
    )


def _near(of_topics: Sequence[Sequence[RelationPathGroup]]) -> tuple[int, int]:
    chains = [chain for found in of_topics for chain in found]
    return min(len(chain.steps) for chain in chains), -sum(chain.count for chain in chains)


BATCH = 32


def mine_pools(
    questions: QuestionSet,
    engine: Engine,
    options: PoolBounds,
    *,
    batch_size: int | None = None,
    workers: WorkerPool = HERE,
    progress: Progress = ignore_progress,
) -> PoolFile:
    """Mine the pools from the engine's graph in batches, which `workers` share, and return what a file has.

    Raises `GraphError` if no question has a path to an answer.
    """
    open_collector = partial(_open_collector, engine.connection, options)
    found, catalogue = mine_questions_in_batches(
        questions, engine, open_collector, batch_size or BATCH, workers, progress
    )
    kept = tuple(each for each in found if isinstance(each, PooledQuestion))
    kinds = Counter(chain.kind for each in kept for chain in each.chains)
    cuts = Counter(cut for each in kept for cut in each.cut)
    counts = {
        "questions": len(kept),
        **count_skipped_questions(found),
        **{f"{kind} chains": kinds[kind] for kind in ("path", "query", "answer")},
        **{f"cut {what}": cuts[what] for what in CUTS},
    }
    origin = (questions.name, questions.sha256, catalogue.vocabulary)
    header = PoolHeader(*origin, options=asdict(options), counts=counts)
    return PoolFile(header, kept, compute_mined_file_sha256(header, kept))


@contextmanager
def _open_collector(connection: Connection, options: PoolBounds) -> Iterator[Mine[PooledQuestion]]:
    with Gateway(connection) as gateway:
        yield partial(collect_batch_pools, gateway=gateway, options=options)


def read_pool_file(path: Path, *, or_mined: bool = False) -> PoolFile:
    """Read a candidate pool. Raises `InputError` if the file is no pool, or damaged.

    or_mined: mined paths are read, too, by `choose_exact_paths`.
    """
    try:
        if or_mined and is_mined_file(path):
            return choose_exact_paths(read_mined_file(path))
        return read_pool(path)
    except MinedFileError as error:
        raise InputError(str(error)) from error


EXACT = 0.9
"""Of the best F1 of a question's paths: what a path of `choose_exact_paths` has at least."""


def choose_exact_paths(mined: MinedFile) -> PoolFile:
    """Return mined paths as supervision: of each question those whose ends are its answers best, by F1.

    Our own, without a language model. A shortest path often leads through a genre or a year that half the graph shares.
    """
    questions = []
    for each in mined.questions:
        best = max((path.f1 for path in each.paths), default=0.0)
        chains = tuple(
            PoolChain("path", topic.id, steps, (topic.mention, *[""] * len(steps)))
            for path in each.paths
            if path.f1 >= EXACT * best
            for steps in (tuple(step for hop in path.hops for step in hop.split(THROUGH)),)
            for topic in (each.topics[path.topic],)
        )
        topics, chosen = tuple(topic.id for topic in each.topics), tuple(range(len(chains)))
        questions.append(PooledQuestion(each.id, each.text, topics, "", chains, (), chosen, "refined"))
    origin = mined.header
    header = PoolHeader(origin.questions, origin.questions_sha256, origin.graph, refiner="the F1 of their ends")
    return PoolFile(header, tuple(questions), mined.sha256)


def read_pool_sets(
    request: TrainingRequest, _config: Any, out: TrainingFolder, *, supervision: Sequence[str] = ()
) -> Sets:
    """Return the candidate pools of question sets; `out.beside` gets the words of the graph's relations.

    supervision: files of `lodestar refine`, each replaces the pool of its question set.
    """
    from ...models.reg.paths import make_relation_texts

    sets = list(map(request.questions, request.files))
    refined = read_refined_pools(supervision, [each.sha256 for each in sets])
    pools = []
    for questions in sets:
        with request.open_graph(questions.name, "mining") as (engine, progress):
            pool = refined.get(questions.sha256)
            pools.append(pool or mine_pools(questions, engine, PoolBounds(), progress=progress))
            out.beside = make_relation_texts(make_words_by_relation(engine.gateway().run(read_catalogue()).relations))
    return request.split(pools)


def read_refined_pools(supervision: Sequence[str], sets: Collection[str]) -> dict[str, PoolFile]:
    """Return the pools of files of `lodestar refine` and `lodestar mine`, by the hash of their question set.

    sets: the hashes of the question sets of this training. Raises `UsageError` for a pool of none of them, `InputError`
    for an invalid file.
    """
    pools = {
        pool.header.questions_sha256: pool
        for pool in (read_pool_file(Path(name), or_mined=True) for name in supervision)
    }
    if others := set(pools) - set(sets):
        names = ", ".join(sorted(pools[sha].header.questions for sha in others))
        raise UsageError(
            f"--supervision: expected candidate pools of the question sets of this training, found one of {names}: "
            "mine it from a set of --dataset or --dev"
        )
    return pools


UNNAMED = "…"
MAX_NAME_CHARS = 80
REFINED = "refined"
FAILED = "unrefined: no reply"
UNREADABLE = "unrefined: no reply could be read"
REFINED_AT_ONCE = 64


def refine_pools(pool: PoolFile, settings: Settings, cache: Path, *, progress: Progress = ignore_progress) -> PoolFile:
    """Return the pool with the chains that a language model chooses as supervision (ReG, section 4.1).

    Where a reply cannot be read the shortest paths stay (`unrefined`). Replies are stored in the settings' cache, else
    in `cache`, so that they are paid for once. Raises `LLMError` if no model is configured, or no question of a batch
    is answered, for example when the budget is spent.
    """
    template = Path(__file__).with_name("refine-prompt.txt").read_text(encoding="utf-8")
    counts: Counter[str] = Counter(dict.fromkeys((REFINED, FAILED, UNREADABLE), 0))
    found: list[PooledQuestion] = []
    with closing(ChatGateway.of(settings if settings.llm_cache else replace(settings, llm_cache=str(cache)))) as chat:
        progress("asking", 0, len(pool.questions))
        for start in range(0, len(pool.questions), REFINED_AT_ONCE):
            batch = pool.questions[start : start + REFINED_AT_ONCE]
            replies = chat.complete([_ask_for_chains(template, question) for question in batch])
            failures = [said for said in replies if isinstance(said, LLMError)]
            if len(failures) == len(batch):
                raise failures[0]
            found += [_refine(question, said, counts) for question, said in zip(batch, replies, strict=True)]
            progress("asking", len(found), len(pool.questions))
    spent = {"calls": chat.usage.calls, "from the cache": chat.usage.cached, "tokens": chat.usage.tokens}
    counted = {**pool.header.counts, **counts, **spent}
    return PoolFile(replace(pool.header, refiner=chat.endpoint.model, counts=counted), tuple(found))


def _ask_for_chains(template: str, question: PooledQuestion) -> Prompt:
    lines = [f"{number}. {_write_chain(chain)}" for number, chain in enumerate(question.chains, start=1)]
    content = fill_placeholders(template, question=one_line(question.text), evidence="\n".join(lines))
    num_chains = len(question.chains)
    return Prompt(
        (Message("user", content),),
        json=True,
        max_tokens=MAX_REPLY_TOKENS,
        is_read=lambda said: bool(parse_numbers(said, num_chains, in_list=True)),
    )


def _refine(question: PooledQuestion, said: Completed, counts: Counter[str]) -> PooledQuestion:
    numbers: frozenset[int] | None = None
    if not isinstance(said, LLMError) and said.refusal is None:
        numbers = parse_numbers(said.content, len(question.chains), in_list=True)
    chosen = tuple(number - 1 for number in sorted(numbers or ()))
    counts[FAILED if isinstance(said, LLMError) else REFINED if chosen else UNREADABLE] += 1
    return replace(question, chosen=chosen or question.weak, how="refined" if chosen else "unrefined")


def _write_chain(chain: PoolChain) -> str:
    """Return a chain as one line, with the direction of each triple."""
    words = [_name(chain.names[0])]
    for step, name in zip(chain.steps, chain.names[1:], strict=True):
        inverse = step.startswith(INVERSE)
        arrow = "<-" if inverse else "->"
        words += [arrow, one_line(step.removeprefix(INVERSE)), arrow, _name(name)]
    return " ".join(words) + (f" (1 of {chain.count:,})" if chain.count > 1 else "")


def _name(name: str) -> str:
    return one_line(name, MAX_NAME_CHARS) if name else UNNAMED
