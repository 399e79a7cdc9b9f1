"""What an engine does beside asking: explain an answer, say what relations mean, load, export, make small changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from .evidence import Answer, Evidence, Item
from .evidence.bridges import Quotes, collect_snippets
from .neo4j.catalogue import RelationInfo, read_catalogue
from .progress import Progress, ignore_progress

if TYPE_CHECKING:
    import networkx
    import pandas as pd

    from ..loaders.report import LoadReport
    from ..loaders.source import Source
    from .explaining import Explanation
    from .neo4j.gateway import Gateway
    from .plans.compile import PlanResult
    from .plans.plan import Plan
    from .recipes import Recipe
    from .relations.describing import DescriptionReport
    from .resources import GraphResources, Resources
    from .settings import Settings
    from .values import Question
    from .writing.changing import ChangeReport, Names, Stated


class LoadHow(TypedDict, total=False):
    """Whether a load adds to the graph or replaces it; progress: called with what is done, how far, and of how much."""

    append: bool
    replace: bool
    progress: Progress


class EngineTools(ABC):
    """The part of an `Engine` that is not asking."""

    settings: Settings
    recipe: Recipe
    resources: Resources

    @abstractmethod
    def gateway(self) -> Gateway:
        """Return the gateway."""

    @abstractmethod
    def ask(self, question: str | Question, **options: Any) -> Answer:
        """Return the answer to a question."""

    @property
    @abstractmethod
    def has_driver(self) -> bool:
        """Whether the driver is the caller's."""

    @property
    @abstractmethod
    def graph(self) -> GraphResources | None:
        """What was read of the graph so far."""

    @abstractmethod
    def read_graph(self) -> GraphResources:
        """Return what belongs to the graph, read at the first call."""

    def explain(self, question: str | Question, *, top_k: int = 5) -> Explanation:
        """Return the answer with the reasons of its first items: how their paths are read, and what a trained scorer
        attended to."""
        from .explaining import explain

        answer = self.ask(question)
        assert self.graph is not None
        return explain(answer, self.recipe, self.graph, self.gateway(), top_k=top_k)

    def quote(self, evidence: Sequence[Evidence[Item]], *, max_items: int = 3) -> list[Quotes]:
        """Return the text snippets behind the first items of each evidence, if the graph was made from text."""
        return collect_snippets(self.gateway(), evidence, max_items)

    def run(self, plan: Plan | str) -> PlanResult:
        """Return what a plan, or its JSON, gives: the database executes it in one query; see `engine.plans`.

        Raises `InputError` for what is no plan, and for one with a relation or a kind that the graph does not have.
        """
        from .context import Context
        from .plans.asking import schema_of
        from .plans.compile import compile_plan
        from .plans.plan import read_plan

        asked = read_plan(plan) if isinstance(plan, str) else plan
        return self.gateway().run(compile_plan(asked, schema_of(Context(self.gateway(), self.read_graph()))))

    def plan(self, question: str | Question) -> Plan | None:
        """Return the likeliest plan of a question, None where none is found; see `engine.plans`."""
        from .context import Context
        from .pipeline import link_questions
        from .plans.asking import find_plans
        from .values import Question

        ctx = Context(self.gateway(), self.read_graph())
        linked = link_questions(
            ctx, self.recipe.linker, [Question(question) if isinstance(question, str) else question]
        )
        (found,), _ = find_plans(ctx, linked)
        return found[0].plan if found else None

    # What relations mean

    def read_relations(self, relation: str | None = None) -> list[RelationInfo]:
        """Return the relations of the graph, or one by its name or label, with what is known of their meaning."""
        from .relations.describing import find_relation

        catalogue = self.gateway().run(read_catalogue())
        return [find_relation(catalogue, relation)[0]] if relation else list(catalogue.relations)

    def describe(self, words: Mapping[str, Sequence[str]]) -> DescriptionReport:
        """Say by which phrases people ask for relations: ``{"owned_by": ["who looks after"], "^owned_by": […]}``.

        ``^name`` has phrases for the heads; ``label=…`` and ``description=…`` among them are that. They are kept in the
        graph and used by the next question. Raises `UsageError` for a relation that is not there, `InputError` for a
        phrase that cannot be one.
        """
        from .relations.describing import add_relation_descriptions, words_of

        catalogue = self.gateway().run(read_catalogue())
        return add_relation_descriptions(self.gateway(), catalogue, words_of(catalogue, words.items()))

    def describe_file(self, path: str | Path) -> DescriptionReport:
        """Describe relations by a file: lines of a relation and phrases, separated by tabs."""
        from .relations.describing import add_relation_descriptions, read_descriptions

        catalogue = self.gateway().run(read_catalogue())
        return add_relation_descriptions(self.gateway(), catalogue, read_descriptions(Path(path), catalogue))

    def describe_by_llm(self, *, say: Callable[[str], None] = lambda _line: None) -> DescriptionReport:
        """Have the language model of the settings say it, once for each relation; see `relations.by_llm`."""
        from .relations.by_llm import phrases_by_llm
        from .relations.describing import add_relation_descriptions

        catalogue = self.gateway().run(read_catalogue())
        words, left_out = phrases_by_llm(self.gateway(), catalogue, self.settings, self.resources.vectors, say=say)
        return add_relation_descriptions(self.gateway(), catalogue, words, left_out)

    def undescribe(self, relations: Sequence[str] = ()) -> DescriptionReport:
        """Take back what user and language model said of relations, or of all."""
        from .relations.describing import remove_descriptions

        return remove_descriptions(self.gateway(), self.gateway().run(read_catalogue()), relations)

    # Whole graphs

    def load(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - as the command line calls it
        encoding: str = "",
        append: bool = False,
        replace: bool = False,
        progress: Progress = ignore_progress,
        **options: Any,
    ) -> LoadReport:
        """Load a file or a folder, whatever `lodestar load` reads: triples, RDF, tables, GraphML, ….

        format: its name where it cannot be told. encoding: of the text, where it is not UTF-8 or UTF-16. options: those
        of the format, as ``names_path``. progress: called with what is done, how far, and of how much. Raises
        `InputError` for a fault of the input before it writes anything.
        """
        from ..loaders.python import source_of_path

        how = LoadHow(append=append, replace=replace, progress=progress)
        return self._load(lambda: source_of_path(path, format, options), encoding, **how)

    def load_triples(
        self,
        triples: Iterable[Stated],
        *,
        names: Mapping[str, str | Sequence[str]] | None = None,
        name: str = "triples",
        **how: Unpack[LoadHow],
    ) -> LoadReport:
        """Load triples (head, relation, tail) as a load of its own; ids without names are their names. See `add`."""
        from ..loaders.python import TriplesSource

        return self._load(lambda: TriplesSource(triples, names or {}, name), **how)

    def load_dataframe(self, frame: Any, *, name: str = "dataframe", **how: Unpack[LoadHow]) -> LoadReport:
        """Load a DataFrame (pandas, polars, Arrow) of triples: columns head, relation, tail or their usual names."""
        from ..loaders.python import TriplesSource, triples_of_dataframe

        return self._load(lambda: TriplesSource(triples_of_dataframe(frame), {}, name), **how)

    def load_tables(self, tables: Mapping[str, Any], *, name: str = "tables", **how: Unpack[LoadHow]) -> LoadReport:
        """Load DataFrames by the names of their tables; keys and references are found as in files.

        Example::

            engine.load_tables({"orders": orders, "customers": customers})
        """
        from ..loaders.property_graph import map_graph
        from ..loaders.python import tables_in_memory

        return self._load(lambda: map_graph(tables_in_memory(tables, name)), **how)

    def load_networkx(self, graph: networkx.Graph, *, name: str = "networkx", **how: Unpack[LoadHow]) -> LoadReport:
        """Load a graph of NetworkX: an edge's relation is its attribute relation, label or type, else its key."""
        from ..loaders.property_graph import map_graph
        from ..loaders.python import NetworkxGraph

        return self._load(lambda: map_graph(NetworkxGraph(graph, name)), **how)

    def _load(self, make_source: Callable[[], Source], encoding: str = "", **how: Unpack[LoadHow]) -> LoadReport:
        from ..loaders.loading import load_source
        from ..loaders.python import options_for
        from ..loaders.reading import use_spool_folder

        options = options_for(self.settings, append=how.get("append", False), replace=how.get("replace", False))
        gateway = self.gateway() if self.has_driver else None
        with use_spool_folder(options.staging, encoding):
            source = make_source()
        return load_source(source, self.settings, options, how.get("progress", ignore_progress), gateway=gateway)

    def export_dataframe(self) -> pd.DataFrame:
        """Return all triples as a DataFrame: head, relation, tail, is_literal, datatype, language, both ends' names."""
        from ..loaders.python import to_dataframe

        return to_dataframe(self.gateway())

    def export_networkx(self) -> networkx.MultiDiGraph:
        """Return the graph as NetworkX's: nodes by id with names and literals, edges by relation."""
        from ..loaders.python import to_networkx

        return to_networkx(self.gateway())

    # Small changes

    def add(self, triples: Iterable[Stated], *, names: Names | None = None) -> ChangeReport:
        """Add triples, and names of entities; the next question of every engine sees them. See `add_triples`.

        Example::

            engine.add([("Lima", "mayor", "Ana"), ("Ana", "born", date(1961, 5, 5))], names={"Ana": "Ana Rojas"})
        """
        from .writing.changing import add_triples

        return add_triples(self.gateway(), triples, names)

    def remove(self, triples: Iterable[Stated], *, missing_ok: bool = False) -> ChangeReport:
        """Remove triples; with `missing_ok` those that are not there are passed over. See `remove_triples`."""
        from .writing.changing import remove_triples

        return remove_triples(self.gateway(), triples, missing_ok=missing_ok)
