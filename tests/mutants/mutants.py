"""Mutants of a module: its source with one small thing changed.

Nothing here imports the package.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

_COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
_NAMES |= {"any": "all", "all": "any"}
_SYMMETRIC = {"min", "max", "minimum", "maximum", "gcd", "lcm"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a source.

    Attributes:
        file: From the root.
        line: Where it begins, from 1.
        operator: Kind of change.
        before: Text that goes.
        after: Text that takes its place.
        begin: Offset of the text that goes [byte].
        end: Offset behind it [byte].
        function: Qualified name of the function that it is in; ``None`` where it is computed as
            the module is imported.
    """

    file: str
    line: int
    operator: str
    before: str
    after: str
    begin: int
    end: int
    function: str | None

    @property
    def module(self) -> str:
        """Name of the module that it is in."""
        return "accnn." + self.file.removesuffix(".py").replace("/", ".")

    def planted(self, source: str) -> str:
        """Return the source with the change in it."""
        data = source.encode()
        return (data[: self.begin] + self.after.encode() + data[self.end :]).decode()


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its lines, each text once."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: dict[tuple[int, int, str], Mutant] = {}
    for node, function, operator, after in _changes(ast.parse(source)):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = source.encode()[begin:end].decode()
        mutant = Mutant(file, node.lineno, operator, before, after, begin, end, function)
        if before != after:
            found.setdefault((begin, end, after), mutant)
    return sorted(found.values(), key=lambda item: (item.begin, item.end, item.after))


Changed = ast.expr | ast.stmt


def _changes(tree: ast.Module) -> Iterator[tuple[Changed, str | None, str, str]]:
    """Yield nodes that change, the functions they are in, how, and the text in their place."""
    for node, function in _meaningful(tree, (), None):
        if isinstance(node, ast.stmt):
            yield from ((node, function, *change) for change in _of_statement(node))
        elif isinstance(node, ast.expr):
            for operator, new in _of_expression(node):
                yield node, function, operator, f"({ast.unparse(new)})"
        for test in _conditions(node):
            yield test, function, "condition negated", f"(not ({ast.unparse(test)}))"


def _meaningful(
    tree: ast.AST, names: tuple[str, ...], function: str | None
) -> Iterator[tuple[ast.AST, str | None]]:
    """Yield the nodes that say what is computed: no types, no texts, no decorators.

    Args:
        tree: Where to look.
        names: Parts of the qualified names of what it defines.
        function: The function that it is in.
    """
    for node in _children(tree):
        inside, within = names, function
        if isinstance(tree, ast.FunctionDef) and node is not tree.args:
            inside, within = (*names, tree.name, "<locals>"), ".".join((*names, tree.name))
        elif isinstance(tree, ast.ClassDef):
            inside = (*names, tree.name)
        yield node, within
        yield from _meaningful(node, inside, within)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return
        case ast.FunctionDef():
            yield node.args
            yield from node.body
        case ast.arguments():
            yield from (value for value in (*node.defaults, *node.kw_defaults) if value)
        case ast.ClassDef():
            yield from node.body
        case ast.AnnAssign():
            yield from (node.value,) if node.value else ()
        case ast.Call(func=ast.Name(id="isinstance")):
            yield node.args[0]
        case ast.Call():
            yield from (node.func, *node.args)
            yield from (item.value for item in node.keywords if item.arg != "strict")
        case ast.Module():
            yield from (item for item in node.body if not _names_types(item))
        case _:
            yield from ast.iter_child_nodes(node)


def _names_types(node: ast.stmt) -> bool:
    """Whether a statement of a module may give a type a name."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.Subscript)


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield conditions whose negation no other change makes, and that do not end a loop."""
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.IfExp):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if not is_not and not isinstance(test, ast.Compare):
            yield test


def _of_statement(node: ast.stmt) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Return(value=ast.Constant(value=None)) | ast.Return(value=None):
            return
        case ast.Return():
            yield "return value dropped", "return None"
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield "statement dropped", "pass"
        case ast.AugAssign() | ast.Continue() | ast.Break() | ast.Raise():
            yield "statement dropped", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement dropped", "pass"
        case _:
            return
    if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
        op = _ARITHMETIC[type(node.op)]()
        yield "arithmetic", ast.unparse(ast.AugAssign(node.target, op, node.value))


def _of_expression(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Compare():
            yield from (("comparison", new) for new in _compared(node))
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
            yield "arithmetic", ast.BinOp(node.left, _ARITHMETIC[type(op)](), node.right)
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "and, or", ast.BoolOp(other, node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield "negation", node.operand
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        case ast.Name(id=name) if name in _NAMES:
            yield "min, max", ast.Name(_NAMES[name])
        case ast.Attribute(attr=name) if name in _NAMES:
            yield "min, max", ast.Attribute(node.value, _NAMES[name])
        case ast.Call():
            yield from (("arguments swapped", new) for new in _swapped(node))
        case _:
            return


def _compared(node: ast.Compare) -> Iterator[ast.expr]:
    for at, op in enumerate(node.ops):
        ops = [*node.ops[:at], _COMPARISONS[type(op)](), *node.ops[at + 1 :]]
        yield ast.Compare(node.left, ops, node.comparators)


def _swapped(node: ast.Call) -> Iterator[ast.expr]:
    """Yield a call for every pair of neighbours among its arguments."""
    if _is_symmetric(node.func) and not node.keywords:
        return
    for at, pair in enumerate(pairwise(node.args)):
        is_starred = any(isinstance(item, ast.Starred) for item in pair)
        if is_starred or ast.dump(pair[0]) == ast.dump(pair[1]):
            continue
        args = [*node.args[:at], pair[1], pair[0], *node.args[at + 2 :]]
        yield ast.Call(node.func, args, node.keywords)


def _is_symmetric(function: ast.expr) -> bool:
    """Whether a function of numbers says the same whatever the order of its arguments."""
    match function:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np" | "math"), attr=name):
            return name in _SYMMETRIC
        case _:
            return False
