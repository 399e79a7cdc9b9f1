"""Find what the words of a question may mean: kinds, topics, values, operators, and runs that may say a relation."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...models.wording import FUNCTION_WORDS, STOP_WORDS, find_operators, fold_name, is_verb, singularise
from ...models.wording.answer_kinds import classify_noun
from ..data_model import Topic
from .chart import (
    LEFT,
    NOTHING,
    SEVERAL,
    WITHIN,
    Chart,
    ChartNode,
    ComparedValue,
    NumberOrDate,
    compute_distribution_overlap,
    make_relation_word_features,
)
from .plan import FollowPath, KindSet, TopicSet, ValueComparison
from .schema import THROUGH, SetDistributions, name_end_kind, normalise_kind_name, split_mediated_step
from .words import get_unit_dimension, read_plan_lexicon, tokenise

CANDIDATES = 6
"""Relations that words propose."""
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)([^\W\d]{1,4}[²³]?|%)?$")
_DECADE = re.compile(r"(1\d|20)?\d0s")
_TIMES = {"k": 1e3, "bn": 1e9, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_YEAR = re.compile(r"(1\d|20)\d\d")
_PARTICLES = frozenset("through in out to at by over for from with on off up into across".split())
_PLAIN = frozenset("many much".split())
YES = frozenset("is are was were does do did has have can".split())


def _find_form(chart: Chart) -> tuple[str, int]:  # noqa: PLR0911
    """Return what is asked for (count, yes, where, who, when, measure, or plain), and the first word after it."""
    words = chart.words
    for at, word in enumerate(words[:6]):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word == "how":
            return ("count", at + 2) if following in ("many", "much") else ("measure", at + 1)
        if (word == "number" and following == "of") or (word == "count" and at == 0):
            return "count", at + (2 if following == "of" else 1)
        if word in ("where", "who", "whom", "when"):
            return word, at + 1
        if word in ("which", "what", "list", "name", "give", "show", "find", "whats", "whose"):
            if "number of" in " ".join(words[at : at + 5]) and "most" not in words and "largest" not in words:
                return "count", words.index("number") + 2
            return "plain", at + 1
    if words and words[0] in YES:
        return "yes", 1
    if words and words[-1] in ("where", "who", "whom", "when"):  # the film Heat starred who
        return words[-1], 0
    return "plain", 0


def fill_chart(chart: Chart) -> None:
    """Fill a chart with what its words may mean, and what it costs to leave each out."""
    chart.form, chart.begin = _find_form(chart)
    chart.topics = _drop_half_named(chart, chart.topics)
    chart.operators = _find_operators(chart)
    words, begin = chart.words, chart.begin
    chart.particles = _find_particles(chart)
    pairs = {f"{w} {chart.particles.get(at, '')}".strip() for at, w in enumerate(words) if w not in STOP_WORDS}
    chart.steps.prepare([*WITHIN, *(w for w in words if w not in STOP_WORDS)], pairs)
    taken = _find_values(chart)
    named = _find_topics(chart, taken)
    for at in range(begin, len(words)):
        for size in range(1, min(3, len(words) - at) + 1):
            name = " ".join([*words[at : at + size - 1], singularise(words[at + size - 1])])
            if name in chart.schema.of_kind and not taken & set(range(at, at + size)):
                chart.add(
                    at, at + size, chart.make("set", KindSet(name), chart.schema.of_kind[name], (), name, kind_alone=1)
                )
                chart.cost.update({p: ("kind_left_out", 1.0) for p in range(at, at + size) if p not in named})
        name = chart.schema.largest.get(classify_noun(words[at]), "")
        is_relation = bool(name) and max(chart.steps.match(words[at]).values(), default=0.0) > 0.9
        if name and not is_relation and singularise(words[at]) not in chart.schema.of_kind and at not in taken | named:
            node = chart.make("set", KindSet(name), chart.schema.of_kind[name], (), name, kind_alone=1, kind_by_noun=1)
            chart.add(at, at + 1, node)
    _find_compounds(chart)
    _find_roles(chart, taken)
    _find_words(chart, taken, named)
    for at, (name, value) in list(chart.cost.items()):
        noun = (
            at + 3 if words[at + 1 : at + 2] in (["and"], ["or"]) else at + 1
        )  # "major", "French or German suppliers"
        before_noun = any(isinstance(node.plan, KindSet) for node in chart.items.get((noun, noun + 1), ()))
        if value and name == "word_left_out" and before_noun and at not in chart.particles:
            chart.cost[at] = ("modifier_left_out", value)
    _keep_operators(chart)


def _find_compounds(chart: Chart) -> None:
    """Let a kind be left out before another one that it is related to, "product" of "product categories", and before
    the name of a thing of that kind: "the film Heat"."""
    spans = {span[0]: topic for topic in chart.topics if (span := _span(chart, topic))}
    for at in range(chart.begin, len(chart.words) - 1):
        kinds, following = (
            [node for node in chart.items.get((start, start + 1), ()) if node.more in chart.schema.of_kind]
            for start in (at, at + 1)
        )
        if not kinds or singularise(chart.words[at]) != chart.words[at]:
            continue
        own: set[str] = set()
        if at + 1 in spans and not at == chart.begin > 0:  # not "which film Mann directed"
            topic = spans[at + 1]
            own = {*chart.kinds_of.get(topic.entity.id, ()), *_kinds_by_ends(chart, topic)}
        is_related = False
        if following:  # but two kinds of product
            is_alike = compute_distribution_overlap(kinds[0].cls.steps, following[0].cls.steps) > 0.5
            is_related = not is_alike and bool(chart.paths(following[0].cls, kinds[0].cls))
        if is_related or any(node.more in own for node in kinds):
            chart.compounds.add(at)
            chart.cost[at] = ("word_left_out", 0.0)


def _find_roles(chart: Chart, taken: set[int]) -> None:
    """Add operators: not, and, or, average, each, same, superlatives, how long."""
    words, begin = chart.words, chart.begin
    roles = {word: role for role, said in read_plan_lexicon()["words"].items() for word in said.split()}
    excepting = [
        at for at in range(len(words)) if " ".join(words[at : at + 2]) in read_plan_lexicon()["except"]["phrases"]
    ]
    for at in excepting:
        chart.add(at, at + 2, chart.make("not", "except"), cost=LEFT)
    measures = read_plan_lexicon()["measures"]
    for at, word in enumerate(words):
        if at in taken or {at, at - 1}.intersection(excepting):
            continue
        role = roles.get(word)
        third = words[at + 2] if word == "top" and at + 2 < len(words) else ""
        if third in read_plan_lexicon()["irregular"] or _base_of(third, "est", measures):  # the top three longest
            chart.cost[at] = (LEFT, 0.0)
        elif role in ("both", "and"):
            chart.add(at, at + 1, chart.make("join", "and"))
            chart.cost.setdefault(at, ("word_left_out", 0.0))
        elif word == "same" and singularise("".join(words[at + 1 : at + 2])) != "".join(words[at + 1 : at + 2]):
            continue  # the same states: all of them, or any?
        elif word == "as" and "same" in words[:at]:
            chart.cost[at] = ("word_left_out", 0.0)
        elif role:
            node = chart.make("join", "or") if role == "or" else chart.make(role, word)
            chart.add(at, at + 1, node, cost=LEFT)
        elif _find_superlative(chart, at) or words[at : at + 2] == ["number", "of"]:
            continue
        elif at == begin and chart.form == "measure" and word in measures:
            chart.add(at, at + 1, chart.make("measure", measures[word]), cost=LEFT)


def _drop_half_named(chart: Chart, topics: Sequence[Topic]) -> list[Topic]:
    """Return the topics without those whose name lacks an operator word of its mention ("High Point" for "highest
    point"), and without those that a name said in full excludes ("Little Missouri", where "Missouri" stands)."""
    names = [_split_name(topic.matched_name or topic.entity.label) for topic in topics]
    full = [(t, n) for t, n in zip(topics, names, strict=True) if set(n) <= set(chart.words)]
    kept = []
    for topic, name in zip(topics, names, strict=True):
        lost = [each.said for each in find_operators(topic.mention) if each.said.lower() not in name]
        rivals = () if set(name) <= set(chart.words) else full
        known = (topic.probability or 0.0) / 2
        if not lost and not any(set(n) & set(name) and (t.probability or 0.0) > known for t, n in rivals):
            kept.append(topic)
    return kept


def _find_operators(chart: Chart) -> dict[int, str]:
    """Return the operator words by their places."""
    found: dict[int, str] = {}
    names = [topic.mention for topic in chart.topics if topic.mention]
    for operator in find_operators(chart.text, names):
        said = [token.text for token in tokenise(operator.said)]
        for at in range(len(chart.words) - len(said) + 1):
            if chart.words[at : at + len(said)] == said and operator.kind not in ("count", "amount"):
                found |= dict.fromkeys(range(at, at + len(said)), operator.said)
    return found


def _find_particles(chart: Chart) -> dict[int, str]:
    """Return the particle of each word that has one: "run through", and "through which states does it run"."""
    words = chart.words
    found = {at: words[at + 1] for at in range(len(words) - 1) if words[at + 1] in _PARTICLES}
    names = {at for topic in chart.topics if (span := _span(chart, topic)) for at in range(*span)}
    for at in range(len(words) - 2):
        if words[at] in _PARTICLES and words[at + 1] in ("which", "what", "whom"):
            verbs = (v for v in range(at + 2, len(words)) if words[v] not in STOP_WORDS and v not in names)
            verb = next((v for v in verbs if normalise_kind_name(words[v]) not in chart.schema.of_kind), None)
            if verb is not None:
                found.setdefault(verb, words[at])
    return {at: particle for at, particle in found.items() if words[at] not in STOP_WORDS}


def _keep_operators(chart: Chart) -> None:
    """Let no operator word be left out that the chart has no reading of: "during", "than"."""
    for at in chart.operators:
        before = at - 1 in chart.operators and chart.operators[at - 1] == chart.operators[at]
        if not before and chart.cost.get(at, ("",))[0] != LEFT:
            chart.cost[at] = (LEFT, 1.0)


def _find_superlative(chart: Chart, at: int) -> bool:
    """Add the superlative, comparative or ordinal that stands at a place; return whether one does.

    A superlative's `plan` is its sign; `more` has the properties that it compares by, whether it may go with
    another property or a count ("the largest population", "the most rivers"), how many, and after how many.
    """
    words, measures, irregular = chart.words, read_plan_lexicon()["measures"], read_plan_lexicon()["irregular"]
    word, following = words[at], words[at + 1] if at + 1 < len(words) else ""
    if word in read_plan_lexicon()["ordinals"]:
        chart.add(at, at + 1, chart.make("ordinal", read_plan_lexicon()["ordinals"][word]), cost=LEFT)
        return True
    if (base := _base_of(word, "er", measures)) or (word in ("more", "less") and following in measures):
        size = 1 if base else 2
        measured = measures[base or following]
        measured = _turn(measured) if word == "less" else measured
        is_than = words[at + size : at + size + 1] == ["than"]
        node = (
            chart.make("comparing", measured) if is_than else chart.make("superlative", 1, more=(measured, False, 1, 0))
        )
        chart.add(at, at + size + is_than, node, cost=LEFT)
        return True
    first, _, second = irregular.get(word, "").partition(" ")
    if first in ("most", "least"):
        sign, adjective = 1 if first == "most" else -1, second
    elif first:
        sign, adjective = -1 if first.startswith("-") else 1, first.lstrip("-")
    else:
        sign, adjective = 1, _base_of(word, "est", measures)
        if not adjective:
            return False
    if first in ("most", "least") and not second and following in measures:
        measured = measures[following] if sign > 0 else _turn(measures[following])
        chart.add(at, at + 2, chart.make("superlative", 1, more=(measured, False, 1, 0)), cost=LEFT)
        return True
    measured = measures.get(adjective, "")
    is_own = not adjective or (sign < 0 and not second)
    sign_of = sign if is_own else 1
    nodes = [chart.make("superlative", sign_of, more=(measured, is_own, 1, 0))]
    if adjective:  # the largest population: of what follows
        is_least = measured.startswith("-") and adjective != "old"
        nodes.append(chart.make("superlative", -1 if is_least else 1, more=("", True, 1, 0)))
    chart.add(at, at + 1, *nodes, cost=LEFT)
    return True


def _find_values(chart: Chart) -> set[int]:
    """Add numbers and dates with their comparison; return the words that they take."""
    words, taken = chart.words, set[int]()
    phrases = [(p.split(), op) for op, ps in read_plan_lexicon()["compare"].items() for p in ps]
    phrases.sort(key=lambda each: -len(each[0]))
    measures = read_plan_lexicon()["measures"]
    for at, word in enumerate(words):
        read = _read_number(chart, at)
        if at in taken or not read:
            continue
        first, end = read
        start, op, measured, last = at, "", "", None
        if at > 1 and words[at - 1] == "than" and (base := _base_of(words[at - 2], "er", measures)):
            start, op, measured = at - 2, "~", measures[base]
        for phrase, sign in phrases:
            if not op and at >= len(phrase) and words[at - len(phrase) : at] == phrase:
                start, op = at - len(phrase), sign
        is_between = at > 0 and words[at - 1] == "between" and words[end : end + 1] == ["and"]
        if is_between and (upper := _read_number(chart, end + 1)):
            start, op, (last, end) = at - 1, "between", upper
        if _DECADE.fullmatch(word):
            year = int(word[:-1]) + (1_900 if len(word) == 3 else 0)
            op, first, last = "between", NumberOrDate(year, str(year)), NumberOrDate(year + 9, str(year + 9))
        if word == "one" and not op:
            continue
        is_alone = not (op or first.date or word in read_plan_lexicon()["numbers"])
        if is_alone and at and words[at - 1] in STOP_WORDS - {"the"}:
            continue  # part of a name
        chart.add(start, end, chart.make("value", None, more=ComparedValue(first, op or "=", measured, last)))
        taken |= set(range(start, end))
        chart.cost |= {p: (LEFT if op else "word_left_out", float(p == at)) for p in range(start, end)}
    return taken


def _read_number(chart: Chart, at: int) -> tuple[NumberOrDate, int] | None:
    """Return the number or date at a place, with its unit, and the place after it."""
    word = chart.words[at] if at < len(chart.words) else ""
    if _DECADE.fullmatch(word):
        word = word[:-1]
    if at < len(chart.words) and (date := chart.dates.get(chart.tokens[at].start)):
        return NumberOrDate(None, date[0]), sum(token.start < date[1] for token in chart.tokens)
    found = _NUMBER.match(str(read_plan_lexicon()["numbers"].get(word, word)))
    if not found:
        return None
    number, end, joined = float(found[1].replace(",", "")), at + 1, found[2] or ""
    if joined and joined not in _TIMES:
        return (NumberOrDate(number, "", joined), end) if joined == "%" or get_unit_dimension(joined) else None
    times = joined or "".join(chart.words[end : end + 1])
    if times in _TIMES:
        number, end = number * _TIMES[times], end + (not joined)
    unit = chart.said[end] if end < len(chart.words) and get_unit_dimension(chart.said[end]) else ""
    return NumberOrDate(number, word if _YEAR.fullmatch(word) else "", unit), end + bool(unit)


def _find_topics(chart: Chart, taken: set[int]) -> set[int]:
    """Add the topics by their spans, those of a kind together; return the words of likely ones."""
    groups: dict[tuple[int, int, tuple[str, ...]], list[Topic]] = {}
    for topic in chart.topics:
        span = _span(chart, topic)
        if span and not set(range(*span)) <= taken and not chart.schema.is_class & set(topic.relations):
            kinds = tuple(chart.kinds_of.get(topic.entity.id, ())) or _kinds_by_ends(chart, topic)
            groups.setdefault((*span, kinds), []).append(topic)
    named: set[int] = set()
    exact = {
        (start, end) for (start, end, _), some in groups.items() if any(_is_exact(chart, t, start, end) for t in some)
    }
    for (start, end, kinds), each in groups.items():
        is_exact = (start, end) in exact
        some = [topic for topic in each if not is_exact or _is_exact(chart, topic, start, end)]
        if not some:
            continue
        chart.exact |= set(range(start, end)) if is_exact else set()
        name = fold_name(some[0].matched_name or some[0].entity.label)
        same = [t for t in some if fold_name(t.matched_name or t.entity.label) == name]
        likely = max((t.probability or 0.01) for t in same)
        words = " ".join(chart.words[start:end])
        is_kind = words in chart.schema.of_kind or singularise(words) in chart.schema.of_kind
        if is_kind and not is_exact:
            continue
        value = 1.0 if is_exact and not is_kind else min(1.0, 2 * likely)
        likely *= 0.2 if is_kind else 1
        first = {_step(chart, number) for topic in same for number in topic.relations}
        shares = dict.fromkeys((step for step in chart.schema.ends if split_mediated_step(step)[0] in first), 1.0)
        if chart.form == "yes" and "there" in chart.words[:2]:  # what others of its kind have, it may lack
            for kind in kinds:
                shares = {**chart.schema.of_kind.get(kind, NOTHING).steps, **shares}
        cls = SetDistributions(shares, dict.fromkeys(kinds, 1.0), "text" if same[0].entity.is_literal else "")
        ids = tuple(dict.fromkeys(t.entity.id for t in same))[:50]
        place = "in" if {"in", "within"}.intersection(chart.words[max(0, start - 2) : start]) else None
        chart.add(
            start, end, chart.make("set", TopicSet(ids), cls, (), place, topic_uncertain=math.log(max(likely, 1e-3)))
        )
        if likely > 0.3:
            named |= set(range(start, end))
        free = [p for p in range(start, end) if chart.cost.get(p, ("",))[0] != "topic_left_out"]
        chart.cost.update(dict.fromkeys(free, ("topic_left_out", value / (end - start))))
    return named


def _is_exact(chart: Chart, topic: Topic, start: int, end: int) -> bool:
    """Return whether a topic is called what the question calls it, and not just about so."""
    words = " ".join(chart.words[start:end])
    return normalise_kind_name(topic.matched_name) in (words, singularise(words)) and words not in FUNCTION_WORDS


def _kinds_by_ends(chart: Chart, topic: Topic) -> tuple[str, ...]:
    steps = {_step(chart, number) for number in topic.relations}
    return tuple(name for name in chart.schema.of_kind if steps & set(chart.schema.kinds[name].ends))


def _step(chart: Chart, number: int) -> str:
    name = chart.schema.numbers.get(abs(number), "")
    return f"^{name}" if name and number < 0 else name


def _span(chart: Chart, topic: Topic) -> tuple[int, int] | None:
    said = [token.text for token in tokenise(topic.mention)]
    starts = range(len(chart.words) - len(said) + 1) if said else ()
    return next(((at, at + len(said)) for at in starts if chart.words[at : at + len(said)] == said), None)


def _find_words(chart: Chart, taken: set[int], named: set[int]) -> None:
    """Add runs of words that may mean a relation; none that runs into a name."""
    words, nouns = chart.words, read_plan_lexicon()["nouns"]
    for at, word in enumerate(words):
        if (
            at < chart.begin
            or at in taken
            or word in STOP_WORDS
            or word in _PLAIN
            or words[at : at + 2] == ["number", "of"]
        ):
            continue
        if word in read_plan_lexicon()["measures"] and not (chart.form == "measure" and at == chart.begin):
            chart.cost.setdefault(at, ("word_left_out", 1.0))
            continue  # an adjective says of what things, not how they are related
        if word in read_plan_lexicon()["nouns"]["live"].split() and at and words[at - 1] in nouns:
            chart.cost[at] = ("word_left_out", 0.0)
            continue
        if word in nouns and (chart.form == "count" or word == "size"):
            found = {step: fit for step, (fit, _) in chart.steps.match_measure(nouns[word]).items()}
            if found:
                chart.add(at, at + 1, chart.make("words", {s: (f, 0.0) for s, f in _best(found)}, more=1))
        for size in range(1, min(3, len(words) - at) + 1):
            inner = [w for w in words[at : at + size] if w not in STOP_WORDS]
            run = set(range(at, at + size))
            if words[at + size - 1] not in STOP_WORDS and not taken & run and not (size > 1 and named & run):
                _add_words(chart, at, at + size, inner)
        if at not in chart.cost:
            chart.cost[at] = ("topic_left_out" if _is_name(chart, at) else "word_left_out", 1.0)
            if _is_property(chart, at):
                chart.cost[at] = (LEFT, 1.0)


def _is_name(chart: Chart, at: int) -> bool:
    """Return whether a word is written as a name is, in a question that is not all in capitals."""
    return at > chart.begin and chart.said[at][:1].isupper() and any(map(str.islower, chart.said[1:]))


def _asks_for(chart: Chart, at: int) -> bool:
    """Return whether the words up to a place only ask: what follows is a noun, and no verb in -s."""
    return all(word in STOP_WORDS or word in _PLAIN for word in chart.words[:at])


def _is_property(chart: Chart, at: int) -> bool:
    """Return whether a word is what a superlative compares by: "the highest density", before the phrase ends."""
    before = [node.kind for node in chart.items.get((at - 1, at), ())]
    return "superlative" in before and (at + 1 == len(chart.words) or chart.words[at + 1] in STOP_WORDS)


def _add_words(chart: Chart, start: int, end: int, inner: Sequence[str]) -> None:
    """Add a run of words as a relation, and as what stands at its end ("actors")."""
    found = chart.steps.match_all(inner)
    if end - start == 1:
        phrase = f"{inner[0]} {chart.particles.get(start, '')}".strip()
        for step, fit in chart.steps.match_phrase(phrase).items():
            found[step] = max(fit, found.get(step, 0.0))
    said = [chart.words[at] for at in range(start, end) if at in chart.operators]
    named = [at for at in range(start, end) if at in chart.exact or _is_name(chart, at)]
    own = [*said, *(chart.words[at] for at in named if chart.words[at] in inner)]
    if own:
        found = {step: fit for step, fit in found.items() if chart.steps.unsaid_of(step, own) == 0}
    if not found or (end - start > 1 and max(found.values()) <= 0.6):
        return
    is_kind = float(any(singularise(word) in chart.schema.of_kind for word in inner))
    fits = {step: (fit, chart.steps.unsaid(step, inner)) for step, fit in _best(found)}
    for step in [step for step in fits if step in chart.schema.flags and fits[step][0] > 0.9]:
        said = chart.make("words", {}, None, more=len(inner))
        is_so = (
            ValueComparison((step,), "=", text=chart.schema.flags[step]),
        )  # organic wines: those whose organic is "yes"
        chart.add(
            start,
            end,
            chart.make("condition", is_so, None, (said,), step, **make_relation_word_features(fits.pop(step), said)),
        )
    if not fits:
        return
    is_one = singularise(inner[-1]) == inner[-1]
    several = not is_one and not chart.cost.get(start, ("",))[0].startswith("topic") and _asks_for(chart, start)
    words = chart.make("words", fits, SEVERAL if several else None, more=len(inner), kind_read_as_relation=is_kind)
    chart.add(start, end, words, *(_find_peaks(chart, words, start) if said and is_one else ()))
    is_said_of = chart.form == "who" and start == chart.begin and is_verb(inner[-1])  # who wrote …
    for step, fit in fits.items() if not is_said_of else ():
        cls = chart.schema.ends.get(step)
        does = _is_agent(inner[-1]) and not chart.steps.says(
            step, singularise(inner[-1])
        )  # actors act, a director is one
        if fit[0] <= 0.6 or cls is None or cls.value or step.startswith("^") != does:
            continue
        name = name_end_kind(step[1:] if step.startswith("^") else f"^{step}")
        ends: Any = KindSet(name)
        if len(split_mediated_step(step)) > 1:
            froms = [kind for kind, each in chart.schema.of_kind.items() if each.steps.get(step, 0.0) > 0.2]
            if not froms:
                continue
            ends = FollowPath(KindSet(froms[0]), split_mediated_step(step))
        chart.add(
            start,
            end,
            chart.make(
                "set", ends, cls, (words,), name, end_of_a_relation=1, **make_relation_word_features(fit, words)
            ),
        )


def _find_peaks(chart: Chart, words: ChartNode, start: int) -> list[ChartNode]:
    """Return what else a superlative in the name of a relation may say: of the highest points the highest."""
    found = []
    for most in [node for node in chart.items.get((start, start + 1), ()) if node.kind == "superlative"]:
        for step, fit in words.plan.items():
            for last, path, sign, fits in chart.measured(most.more[0], chart.schema.ends.get(step, NOTHING)):
                order, own = sign * most.plan, {**fits, **make_relation_word_features(fit, words)}
                key = (order, THROUGH.join((step, last)), None, 1, 0)
                found.append(chart.make("key", key, None, (words,), "value", **own))
                peak = (step, path, "most" if order > 0 else "least")
                found.append(chart.make("peak", peak, None, (words,), **own))
    return found


def _best(found: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(found.items(), key=lambda each: -each[1])[:CANDIDATES]


def _split_name(name: str) -> list[str]:
    return [token.text for token in tokenise(name) if token.text not in STOP_WORDS]


def _is_agent(word: str) -> bool:
    """Return whether a noun says who does something: "actors"."""
    return singularise(word).endswith(("er", "or", "ist", "ian"))


def _turn(words: str) -> str:
    return " ".join(word[1:] if word.startswith("-") else f"-{word}" for word in words.split())


def _base_of(word: str, ending: str, known: Mapping[str, str]) -> str:
    """Return the adjective of a word in -er or -est."""
    base = word.removesuffix(ending)
    if base == word:
        return ""
    forms = (base, f"{base}e", base[:-1] if base[-1:] == base[-2:-1] else base, f"{base[:-1]}y")
    return next((each for each in forms if each in known), "")
