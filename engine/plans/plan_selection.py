"""Answer the questions that need a plan: find plans, execute the likeliest together, and keep the surest."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...models import Range, Share
from ...models.calibration import sigmoid
from ...models.wording import STOP_WORDS, find_operators, list_wanted_nouns, singularise
from ..answering import ExtractiveAnswerer
from ..data_model import Chain, LinkedQuestion, Scored, Topic
from ..evidence import LEAST_PROBABILITY, NOT_THERE, UNSTATED, Answer, AnswerProbabilityFactors, Evidence, PlanAnswer
from ..evidence.text import NO_LABELS, Labels
from ..linking import select_start_topics
from ..neo4j.graph_requests import find_literals_by_prefix, read_value_signatures
from ..parts import Reorganiser, option, part
from .chart_items import YES
from .compile import PlanResult, compile_plan, execute_plans
from .llm_planner import WrittenPlan, have_equal_results, write_plans
from .plan import (
    AggregateValue,
    CompareNumbers,
    CountMembers,
    FilteredSet,
    FindMembers,
    FollowPath,
    HasMembers,
    HasPathTo,
    Intersection,
    KindSet,
    Plan,
    RankGroups,
    TopByValue,
    TopicSet,
    iterate_parts,
    serialise_plan,
    verbalise_plan,
)
from .planner import Candidate, Planner
from .schema import GraphSchema, read_entity_types, read_schema
from .unused_words import mark_path_answers_not_understood
from .words import StepWordMatcher, tokenise

if TYPE_CHECKING:
    from ..context import Context
    from ..resources import GraphResources

MAX_TRIES = 3
"""Plans of a question that are executed."""
MAX_VALUE_WORDS = 3
ALONE_FROM = 0.5
"""The least probability of a plan of a plain question for which no path was found. Our own choice."""
NONE_FROM = 0.5
"""The least probability of a plan that counts nothing: no triple proves that. Our own choice."""
LIKELY = 0.3
"""The probability of a link from which on a question is taken to name that. Our own choice."""
AGREED = 0.85
"""How likely a plan of a language model is right if what was found without it gives the same."""
ALONE = 0.5
"""How likely it is else, if all samples give the same."""
FARTHEST = 5.0
"""By how much a plan's score is ahead of another's, at most, where certainty reads it."""


UNITS = {
    "length": ("km", 1e3), "area": ("km²", 1e6), "volume": ("l", 1.0), "mass": ("kg", 1.0), "time": ("h", 3600.0),
    "data": ("GB", 1e9), "percent": ("%", 1.0), "speed": ("km/h", 1 / 3.6),
}  # fmt: skip
"""What totals are given in, by dimension, and how many base units that is; else the dimension itself (USD)."""


@cache
def read_plan_weights() -> Mapping[str, Mapping[str, float]]:
    """Return the learned weights of plans, and those of how sure the best one is."""
    data: Mapping[str, Mapping[str, float]] = json.loads(
        files(__name__.rpartition(".")[0]).joinpath("weights.json").read_text(encoding="utf-8")
    )
    return data


@dataclass(frozen=True, slots=True)
class ExecutedPlan:
    """A plan with what it gives, and the probability that it is what was asked."""

    candidate: Candidate
    result: PlanResult
    probability: float


@part("plans")
@dataclass(frozen=True)
class Plans(Reorganiser):
    """Answers questions about kinds, numbers, times and sets by plans that the database executes (docs/questions.md).

    A question with a word that no plan understands keeps what the retriever finds. Where both give an answer, each is
    as likely as it is beside the other (`make_plan_versus_path_features`), and the likelier one is given.
    """

    follows_answers: ClassVar[bool] = True

    stated_from: Share = option(0.65, "below this probability what a plan gives is unsure")
    samples: Annotated[int, Range(0, 9)] = option(
        0, "plans that a language model writes for a question that is not answered surely; 0 for none"
    )

    def open(self, graph: GraphResources) -> None:
        """Raise `LLMError` if a model is to write plans and none is configured."""
        if self.samples:
            _ = graph.shared.chat

    def __call__(self, ctx: Context, evidence: Sequence[Evidence[Any]]) -> list[Evidence[Any]]:
        questions, evidence = ctx.linked, list(evidence)
        asking = [at for at, question in enumerate(questions) if _may_need_plan(question)]
        if not asking:
            return evidence
        found, topics = find_plans(ctx, [questions[at] for at in asking])
        paths = mark_path_answers_not_understood(
            ctx, ExtractiveAnswerer()(ctx, [evidence[at] for at in asking]), strict=True
        )
        unsure = []
        for at, path, best, some in zip(asking, paths, choose_plans(ctx, found), topics, strict=True):
            is_sure = path.found and not path.unsure
            if best is not None:
                evidence[at], is_sure = self._decide(ctx, questions[at], evidence[at], path, best, some)
            elif path.found and _leaves_name_out(evidence[at], some):
                evidence[at], is_sure = _set_probability(evidence[at], min(path.confidence or 1.0, UNSTATED)), False
            if not is_sure:
                unsure.append((at, path, best, some))
        if self.samples and unsure:
            asked = [(questions[at].question.text, some) for at, _, _, some in unsure]
            schema, steps = get_graph_schema(ctx), _planner_of(ctx).steps
            plans = write_plans(ctx, schema, steps, asked, self.samples)
            for (at, path, best, some), plan in zip(unsure, plans, strict=True):
                evidence[at] = self._decide_written(ctx, questions[at], evidence[at], path, best, some, plan)
        return evidence

    def _decide(
        self, ctx: Context, question: LinkedQuestion, evidence: Evidence[Any], path: Answer, best: ExecutedPlan,
        topics: Sequence[Topic],
    ) -> tuple[Evidence[Any], bool]:  # fmt: skip
        """Return the evidence of a plan or of the path beside it, whichever is likelier with what the other says, and
        whether its answer can be stated."""
        beside_path, beside_plan = make_plan_versus_path_features(best, path)
        of_plan, of_path = _probability("beside_path", beside_path), _probability("beside_plan", beside_plan)
        if unread := best.candidate.unread:
            of_plan, of_path = min(of_plan, UNSTATED), min(of_path, UNSTATED)
            said = f"{' and '.join(f'“{word}”' for word in unread)} of the question was not understood"
            evidence = replace(evidence, left_out=(*evidence.left_out, said))
        if best.candidate.is_doubtful:
            of_plan = min(of_plan, UNSTATED)
        is_plain = _is_plain_question(best.candidate.plan)
        if beside_plan and (best.candidate.is_doubtful or of_path > of_plan or of_plan < LEAST_PROBABILITY):
            return _set_probability(evidence, max(of_path, LEAST_PROBABILITY)), of_path > UNSTATED
        if "same" in beside_path and is_plain:
            return _set_probability(evidence, of_plan), of_plan > UNSTATED
        if "differs" not in beside_path and is_plain and of_plan < ALONE_FROM:
            return evidence, False
        found = _make_evidence(ctx, question, replace(best, probability=of_plan), topics, self.stated_from)
        return replace(found, left_out=evidence.left_out), of_plan >= self.stated_from

    def _decide_written(
        self, ctx: Context, question: LinkedQuestion, evidence: Evidence[Any], path: Answer, best: ExecutedPlan | None,
        topics: Sequence[Topic], written: WrittenPlan | str,
    ) -> Evidence[Any]:  # fmt: skip
        """Return the evidence of a plan that a language model wrote, if it is likelier than what was found without."""
        if isinstance(written, str):
            return replace(evidence, left_out=(*evidence.left_out, f"the language model wrote no plan: {written}"))
        ends = {end.id for end in path.answers}
        found_too = best is not None and have_equal_results(best.result, written.result)
        found_too |= path.found and ends == {row.entity.id for row in written.result.rows}
        probability = (AGREED if found_too else ALONE) * written.share
        known = evidence.extra_of(PlanAnswer)
        if best is not None and best.candidate.unread and found_too:
            probability = min(probability, UNSTATED)
        if probability < (known.probability or 0.0 if known else 0.0):
            return evidence
        chosen = ExecutedPlan(Candidate(written.plan, {}, 0.0, False), written.result, probability)
        return _make_evidence(ctx, question, chosen, topics, self.stated_from)


def make_plan_versus_path_features(best: ExecutedPlan, path: Answer) -> tuple[dict[str, float], dict[str, float]]:
    """Return what it is read from that a plan is right beside a path, and that the path is; empty for the path where
    both lead to the same things, or where it leads to none."""
    rows, ends = {row.entity.id for row in best.result.rows}, {each.id for each in path.answers}
    is_set = best.result.yes is None and best.result.number is None
    same = path.found and is_set and best.result.total == len(ends) and rows <= ends
    plain = float(_is_plain_question(best.candidate.plan))
    plan, known = _log_odds(best.probability), _log_odds(path.confidence or 0.5)
    known_to_differ = path.found and best.result.yes is None  # a path says no yes
    withheld = path.not_understood or (plain and not path.evidence.topics)  # a path cannot start at a text
    state = "same" if same else "differs" if known_to_differ else "withheld" if withheld else "none"
    odds = {"withheld": 0.0, "none": _log_odds(path.confidence or 0.0)}.get(state, known)
    of_plan = {"one": 1.0, "plan": plan, state: 1.0, f"plain_{state}": plain, f"path_{state}": odds}
    if state != "differs":
        return of_plan, {}
    return of_plan, {"one": 1.0, "path": known, "plan": plan, "plain": plain, "less": float(ends < rows)}


def _probability(name: str, feats: Mapping[str, float]) -> float:
    weights = read_plan_weights()[name]
    return float(sigmoid(sum(weights.get(each, 0.0) * value for each, value in feats.items())))


def _log_odds(probability: float) -> float:
    within = min(max(probability, 0.001), 0.999)
    return math.log(within / (1 - within))


def _set_probability(evidence: Evidence[Any], probability: float) -> Evidence[Any]:
    """Return evidence whose first path is right with another probability, where its probability is known."""
    known = evidence.extra_of(AnswerProbabilityFactors)
    if known is None:
        return evidence
    others = tuple(each for each in evidence.extras if each is not known)
    return replace(evidence, extras=(*others, replace(known, probability=probability)))


def _may_need_plan(question: LinkedQuestion) -> bool:
    """Whether a question has a sign of asking for more than a path: an operator word, a verb in front, things in the
    plural, a number, a comparative, a clause, and, or, where, two names. Only then is the schema of plans read."""
    if question.question.filter:  # a plan would not keep to it
        return False
    text = question.question.text
    given = [each.entity.label.casefold() for each in question.topics if not each.mention]
    if (question.question.topic_entities and not given) or any(name not in text.casefold() for name in given):
        return False  # a plan would not know where what it is about is named
    words = [token.text for token in tokenise(text)]
    names = [topic.mention for topic in question.topics if topic.mention]
    return bool(
        find_operators(text, names)
        or (not given and _names_another(text, question.topics))
        or YES.intersection(words[:1])
        or {"and", "or", "than", "vs", "versus", "where"}.intersection(words)
        or {"that", "which", "who", "whose"}.intersection(words[2:])
        or any(word[:1].isdigit() for word in words)
        or any(singularise(word) != word for word in list_wanted_nouns(text)[-1:])
    )


def _names_another(text: str, topics: Sequence[Topic]) -> bool:
    """Return whether a question names two things, one of which may be a text that no entity is called by."""
    spans = {topic.span: topic.probability or 0.0 for topic in select_start_topics(topics) if topic.span}
    likely = [span for span, probability in spans.items() if probability > LIKELY]
    said = [t for t in tokenise(text)[1:] if text[t.start].isupper() and text[t.end : t.end + 1] != "."]  # but "Ms."
    is_written = any(text[token.start].islower() for token in tokenise(text)[1:])
    other = any(all(not start <= token.start < end for start, end in spans) for token in said)
    return (is_written and other and bool(spans)) or any(one[1] <= other[0] for one in likely for other in likely)


def _leaves_name_out(evidence: Evidence[Any], topics: Sequence[Topic]) -> bool:
    """Return whether a question names a text of the graph in capitals that its first path does not touch."""
    chains = [item.value for item in evidence.items[:1] if isinstance(item.value, Chain)]
    triples = [triple for chain in chains for step in chain.triples() for triple in step]
    touched = {entity.id for triple in triples for entity in (triple.head, triple.tail)}
    said = [topic for topic in topics if topic.entity.is_literal and topic.mention[:1].isupper()]
    names = " ".join(entity.label for triple in triples for entity in (triple.head, triple.tail))
    return bool(chains) and any(t.entity.id not in touched and t.mention not in names for t in said)


def find_plans(
    ctx: Context, questions: Sequence[LinkedQuestion]
) -> tuple[list[list[Candidate]], list[tuple[Topic, ...]]]:
    """Return plans for each question, best first, and its topics; none where the best leaves an operator word out."""
    schema = get_graph_schema(ctx)
    planner = _planner_of(ctx)
    topics, kinds = look_up_literal_topics(ctx, questions, schema)
    found = [planner.plan(q.question.text, some, kinds) for q, some in zip(questions, topics, strict=True)]
    understood = [[each for each in some if not (each.leaves_operator or some[0].leaves_operator)] for some in found]
    return understood, topics


def get_graph_schema(ctx: Context) -> GraphSchema:
    graph, db = ctx.graph, ctx.db
    found: GraphSchema = graph.get_or_make(GraphSchema, lambda: read_schema(db, graph.catalogue, graph.words))
    return found


def _planner_of(ctx: Context) -> Planner:
    found: Planner = ctx.graph.get_or_make(Planner, lambda: make_planner(ctx.graph, get_graph_schema(ctx)))
    return found


def make_planner(graph: GraphResources, schema: GraphSchema) -> Planner:
    return Planner(
        schema, StepWordMatcher(graph.words, schema.ends, graph.shared.vectors), read_plan_weights()["plans"]
    )


def _is_plain_question(plan: Plan) -> bool:
    """Whether a plan has no operator and names at most one thing."""
    named = set()
    for each in iterate_parts(plan):
        if isinstance(each, TopicSet):
            named.add(each.ids)
        elif not isinstance(each, FindMembers | FollowPath | KindSet | Intersection | HasPathTo) and not (
            isinstance(each, FilteredSet) and isinstance(each.condition, HasPathTo)
        ):
            return False
    return len(named) == 1


def look_up_literal_topics(
    ctx: Context, questions: Sequence[LinkedQuestion], schema: GraphSchema
) -> tuple[list[tuple[Topic, ...]], dict[str, tuple[str, ...]]]:
    """Return the topics of each question with the texts of the graph that it names, and the kinds of all by id."""
    grams = [{} if q.question.topic_entities else _list_grams(q.question.text) for q in questions]
    terms = list(dict.fromkeys(f'"{text}"' for some in grams for text in some.values()))
    found = ctx.db.run(find_literals_by_prefix(terms, 3)) if terms else []
    by_text = {term: some for term, some in zip(terms, found, strict=True) if some}
    ids = [each.id for some in by_text.values() for each in some]
    entities = list(dict.fromkeys(t.entity.id for q in questions for t in q.topics if not t.entity.is_literal))
    read = read_entity_types(entities, ctx.graph.catalogue, ctx.graph.words)
    signatures, of_entity = ctx.db.run_all([read_value_signatures(ids), read])
    kinds = {
        id_: tuple(dict.fromkeys(kind for each in some for kind in schema.kind_names.get(each, ())))
        for id_, some in of_entity.items()
    }
    topics = []
    for question, some in zip(questions, grams, strict=True):
        values = [
            Topic(entity, 1, signatures[entity.id].relations, 0.5, said, text, 0.5)
            for said, text in some.items()
            for entity in by_text.get(f'"{text}"', ())
            if entity.id in signatures
        ]
        known = {topic.entity.id for topic in question.topics}
        named = (each if each.mention else replace(each, mention=each.entity.label) for each in question.topics)
        topics.append((*named, *(each for each in values if each.entity.id not in known)))
    return topics, kinds


def _list_grams(text: str) -> dict[str, str]:
    """Return runs of words as the question has them and as a value may be written: "toulouse" is "Toulouse"."""
    words = tokenise(text)
    found: dict[str, str] = {}
    for at in range(len(words)):
        for word in words[at : at + MAX_VALUE_WORDS]:
            said = text[words[at].start : word.end]
            if said.lower() not in STOP_WORDS and not said[:1].isdigit():
                found[said] = said if said[:1].isupper() else said.title()
    return found


def choose_plans(ctx: Context, found: Sequence[Sequence[Candidate]]) -> list[ExecutedPlan | None]:
    """Execute the likeliest plan of each question, all together; where it gives nothing, one that is likelier then."""
    schema, weight = get_graph_schema(ctx), read_plan_weights()["plans"]["gives_nothing"]
    chosen: list[ExecutedPlan | None] = [None] * len(found)
    waiting = [list(some) for some in found]
    for _ in range(MAX_TRIES):
        asked = [
            (at, some.pop(0))
            for at, some in enumerate(waiting)
            if some and ((best := chosen[at]) is None or some[0].score > best.candidate.score)
        ]
        results = execute_plans(ctx, [compile_plan(plan.plan, schema) for _, plan in asked])
        for (at, plan), result in zip(asked, results, strict=True):
            if result is None:
                continue
            emptied = replace(plan, feats={**plan.feats, "gives_nothing": 1.0}, score=plan.score + weight)
            each, best = emptied if result.is_empty or _gives_back(plan.plan, result) else plan, chosen[at]
            if best is None or each.score > best.candidate.score:
                chosen[at] = ExecutedPlan(each, result, compute_plan_certainty(each, found[at]))
    return chosen


def _list_named(plan: Plan) -> set[str]:
    """Return the ids of all that a plan names."""
    return {id_ for each in iterate_parts(plan) if isinstance(each, TopicSet) for id_ in each.ids}


def _gives_back(plan: Plan, result: PlanResult) -> bool:
    """Whether a plan leads to nothing but things that it names itself: "both Spain and Germany" to Spain."""
    is_chosen = any(isinstance(each, TopByValue) and isinstance(each.of, TopicSet) for each in iterate_parts(plan))
    is_find = isinstance(plan, FindMembers) and bool(result.rows)
    return is_find and not is_chosen and {row.entity.id for row in result.rows} <= _list_named(plan)


def compute_plan_certainty(best: Candidate, others: Sequence[Candidate]) -> float:
    """Return the probability that a plan is right: logistic in its features, its score, and how far that is ahead."""
    own = _order_conditions(best.plan)
    behind = max((each.score for each in others if _order_conditions(each.plan) != own), default=best.score - FARTHEST)
    feats = {**best.feats, "one": 1.0, "score": best.score, "ahead": min(best.score - behind, FARTHEST)}
    return float(sigmoid(sum(weight * feats[name] for name, weight in read_plan_weights()["certainty"].items())))


def _order_conditions(plan: Plan) -> Any:
    """Return a plan by which two are the same that differ in the order of conditions alone."""
    of, tests = getattr(plan, "of", plan), []
    while isinstance(of, FilteredSet):
        tests.append(of.condition)
        of = of.of
    return type(plan), of, sorted(map(repr, tests))


def _make_evidence(
    ctx: Context, question: LinkedQuestion, best: ExecutedPlan, topics: Sequence[Topic], stated_from: float
) -> Evidence[Any]:
    """Return the evidence of a plan: the triples that its first results rest on, with what it gives."""
    triples = dict.fromkeys(triple for row in best.result.rows for triple in row.witness)
    items = tuple(Scored(triple, best.probability) for triple in triples)
    plan = best.candidate.plan
    used = _list_named(plan)
    topics = [topic for topic in topics if topic.entity.id in used]
    label = {topic.entity.id: topic.entity.label for topic in topics if not topic.entity.is_literal}
    labels = Counter(label.values())
    sets = (
        [label[id_] for id_ in each.ids if id_ in label] for each in iterate_parts(plan) if isinstance(each, TopicSet)
    )
    is_shared = any(len(set(named)) < len(named) for named in sets)
    names = {e.id: f"{e.label} ({e.id})" if labels[e.label] > 1 else e.label for e in (t.entity for t in topics)}
    dimension = get_graph_schema(ctx).dimensions.get(plan.path[-1], "") if isinstance(plan, AggregateValue) else ""
    answer = _make_answer(plan, best.result, names, dimension, ctx.graph.labels)
    if _gives_back(plan, best.result):
        answer = replace(answer, found=(), total=0, reason="it leads back to what the question names")
    elif best.probability < NONE_FROM and answer.number == 0 and not items:
        answer = replace(answer, number=None, says="", reason=f"there is none: {answer.how}")
    unsure = best.probability < stated_from or (is_shared and bool(answer.says))
    answer = replace(answer, probability=best.probability, unsure=unsure)
    return Evidence(question.question, tuple(topics), "triple", items, extras=(answer,))


def _make_answer(
    plan: Plan, result: PlanResult, names: Mapping[str, str], dimension: str = "", labels: Labels = NO_LABELS
) -> PlanAnswer:
    """Return what a plan gives as answers are made of it; names: of topics, by id; dimension: of its number."""
    found = tuple((row.entity, row.key) for row in result.rows)
    base = PlanAnswer(
        serialise_plan(plan), verbalise_plan(plan, names, labels), found, result.total, missing=result.missing
    )
    if isinstance(plan, HasMembers | CompareNumbers):
        if result.yes is None:
            return replace(base, reason="a value is missing")
        no = NOT_THERE if isinstance(plan, HasMembers) else "no"
        return replace(base, yes=result.yes, says="yes" if result.yes else no)
    if isinstance(plan, CountMembers | AggregateValue):
        if result.number is None:
            return replace(base, reason=f"none of {result.missing:,} has a value")
        unit, size = UNITS.get(dimension, (dimension, 1.0))
        number = result.number / size
        number = int(number) if math.isclose(number, round(number)) else number
        said = f"{number:,.10g}" if isinstance(number, float) else f"{number:,}"
        return replace(base, number=number, says=f"{said} {unit}".strip())
    if isinstance(plan, RankGroups):
        said = ", ".join(f"{row.entity.label}: {row.key or 0:,.10g}" for row in result.rows[:10])
        return (
            replace(base, says=said + (" …" if result.total > 10 else ""))
            if result.total
            else replace(base, reason="none")
        )
    return base if result.total else replace(base, reason=f"there is none: {base.how}")
