"""The faults that a text of Python may have: one small change each of what it computes.

No fault is put where it would change what the code says rather than what it does (texts, annotations, decorators, what a
`raise` says), nor into the fields of a class, which are options and their defaults.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
PAIRS = (("min", "max"), ("amin", "amax"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil"), ("mean", "sum"))
OTHERS = dict(PAIRS) | {second: first for first, second in PAIRS}
"""Functions and methods that a fault exchanges."""


@dataclass(frozen=True)
class Fault:
    """Bytes `start` to `end` of the text of `file` are `new`; whole lines say what was (`before`) and is (`after`).

    `at_import` is where it runs as the module is imported, outside of any function.
    """

    file: str
    line: int
    at_import: bool
    start: int
    end: int
    new: bytes
    before: str
    after: str

    def put_into(self, text: bytes) -> bytes:
        """Return the text with the fault in it."""
        return text[: self.start] + self.new + text[self.end :]

    def is_one(self, text: bytes) -> bool:
        """Return whether the text with the fault is valid Python that is not the same."""
        try:
            return ast.dump(ast.parse(self.put_into(text))) != ast.dump(ast.parse(text))
        except SyntaxError:
            return False


def find_faults(file: str, text: bytes) -> list[Fault]:
    """Return the faults of a text in its order. A few leave no valid Python, or the same: see `Fault.is_one`."""
    finder = _Finder(text)
    finder.visit(ast.parse(text))
    found = []
    for start, end, new, at_import in sorted(set(finder.found)):
        first, last = text.rfind(b"\n", 0, start) + 1, text.find(b"\n", end)
        before, after = text[first:last], text[first:start] + new + text[end:last]
        line = text.count(b"\n", 0, start) + 1
        found.append(Fault(file, line, at_import, start, end, new, _lines(before), _lines(after)))
    return found


def _lines(text: bytes) -> str:
    return "\n".join(line.strip() for line in text.decode().splitlines())


class _Finder(ast.NodeVisitor):
    """Gathers (start, end, new, at import) in bytes."""

    def __init__(self, text: bytes) -> None:
        self.found: list[tuple[int, int, bytes, bool]] = []
        self._text = text
        self._depth = 0
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", text))]

    def _start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def _add(self, start: int, end: int, new: str) -> None:
        self.found.append((start, end, new.encode(), self._depth == 0))

    def _replace(self, node: ast.expr | ast.stmt, new: str) -> None:
        self._add(self._start(node), self._end(node), new)

    def _swap(self, operator: ast.AST, start: int, end: int) -> None:
        """Exchange the operator that stands in the text from `start` to `end`, between its operands."""
        old, new = OPERATORS.get(type(operator), ("", ""))
        pattern = rb"\s+".join(re.escape(word).encode() for word in old.split())
        if old and (match := re.search(pattern, self._text[start:end])):
            self._add(start + match.start(), start + match.end(), new)

    def _decide(self, test: ast.expr, *outcomes: str) -> None:
        if not isinstance(test, ast.Constant) and ast.unparse(test) != "TYPE_CHECKING":
            for outcome in outcomes:
                self._replace(test, outcome)

    # What is not looked into: what texts say, types and decorators.

    def visit_Raise(self, node: ast.Raise) -> None: ...
    def visit_Assert(self, node: ast.Assert) -> None: ...
    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self._depth += 1
        for statement in node.body:
            self.visit(statement)
        self._depth -= 1

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in node.body:
            if not isinstance(part, (ast.Assign, ast.AnnAssign)):
                self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    # What is changed.

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not (isinstance(node.op, ast.BitOr) and _is_type(node)):
            self._swap(node.op, self._end(node.left), self._start(node.right))
            self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._swap(node.op, self._end(left), self._start(right))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self._swap(operator, self._end(left), self._start(right))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start = self._start(node)
        if isinstance(node.op, ast.Not):
            self._add(start, start + len("not"), "")
        elif isinstance(node.op, ast.USub):
            self._add(start, start + 1, "+")
        if not isinstance(node.operand, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        match node.value:
            case bool():
                self._replace(node, str(not node.value))
            case int():
                self._replace(node, str(node.value + 1))
            case float():
                self._replace(node, str(-node.value or 1.0))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._swap(node.op, self._end(node.target), self._start(node.value))
        self._replace(node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Leave out what writes into something, or gives a name a new value out of its own."""
        read = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
        if all(isinstance(to, ast.Subscript) or (isinstance(to, ast.Name) and to.id in read) for to in node.targets):
            self._replace(node, "pass")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, (ast.Call, ast.Await)):
            self._replace(node, "pass")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of `zip`: a check, as `assert` is
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            if keyword.arg and keyword.arg not in ("strict", "bound"):  # of a type variable
                self._leave_out(keyword)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in OTHERS and not (isinstance(node.func, ast.Name) and name == "sum"):
            end = self._end(node.func)
            self._add(end - len(name), end, OTHERS[name])
        self.generic_visit(node)

    def _leave_out(self, keyword: ast.keyword) -> None:
        start, end = self._start(keyword), self._end(keyword)
        if comma := re.match(rb"\s*,[ ]*", self._text[end:]):
            end += comma.end()
        elif comma := re.search(rb",\s*$", self._text[:start]):
            start = comma.start()
        self._add(start, end, "")

    def visit_If(self, node: ast.If) -> None:
        self._decide(node.test, "True", "False")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._decide(node.test, "True", "False")
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._decide(node.test, "False")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._decide(test, "True", "False")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break")


def _is_type(node: ast.expr) -> bool:
    """Whether an expression is a union of types, which is an alias and no arithmetic."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr) and _is_type(node.left) and _is_type(node.right)
    name = ast.unparse(node).split("[", 1)[0].rpartition(".")[2]
    return name in {"None", "int", "str", "float", "bool", "bytes"} or (name[:1].isupper() and not name.isupper())
