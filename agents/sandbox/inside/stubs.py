"""Puts a stub in a candidate's place: the same module and names, in which no function does its work.

Standard library only, Python 3.8 or newer. It runs in the sandbox, so that an unknown program is parsed
nowhere else. A stub keeps of the candidate:

- every function, method and lambda takes the same arguments, and returns None (the stub "none") or its
  first argument, `self` and `cls` not counted (the stub "input"); a generator yields nothing, or the elements
  of that argument; a context manager enters and leaves;
- `__init__` gives the object the attributes that the class's methods set, all None;
- imports, constants and other statements of the module stay. One that fails, now that no function works,
  leaves None under its names; a name bound to a built-in or partial function is a stub as well;
- the candidate's own decorators are removed, since they do nothing now; others stay.
"""

from __future__ import annotations

import ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
INNER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
IMPORTS = (ast.Import, ast.ImportFrom)
MANAGERS = ("contextmanager", "asynccontextmanager")
# Whatever these return other than None, Python takes it for a mistake or for more than was meant.
SILENT = ("__post_init__", "__exit__", "__aexit__", "__del__", "__init_subclass__", "__set_name__")
ENTERING = ("__enter__", "__aenter__")
# Types of callables that a statement makes, and that hold no class of the candidate.
MADE = ("builtins", "functools", "operator")


def load_stub(space: dict[str, Any], source: bytes, kind: str) -> None:
    """Load the stub of a candidate into a module's namespace.

    Args:
        space: The globals of the module that replaces the candidate.
        source: The candidate's source.
        kind: Which stub, "none" or "input".

    Raises:
        LookupError: The candidate has no function to replace.
    """
    tree = ast.parse(source)
    stubs = Stubs(kind, tree)
    assigned = [
        name
        for part in tree.body
        if not isinstance(part, (*IMPORTS, *DEFINITIONS))
        for name in bound_names(part)
    ]
    tree = ast.fix_missing_locations(stubs.visit(tree))
    exec(compile(tree, space.get("__file__", "candidate.py"), "exec", dont_inherit=True), space)  # noqa: S102 - in a sandbox
    found = stubs.found
    for name in assigned:
        value = space.get(name)
        if callable(value) and not isinstance(value, type) and type(value).__module__ in MADE:
            space[name] = returns_none if kind == "none" else returns_input
            found += 1
    if not found:
        raise LookupError("the candidate has no function that a stub could stand for")


def returns_none(*args: object, **named: object) -> object:
    """Do nothing."""


def returns_input(*args: object, **named: object) -> object:
    """Return the first argument."""
    return args[0] if args else next(iter(named.values()), None)


class Stubs(ast.NodeTransformer):
    """Replaces the body of every function of a module."""

    def __init__(self, kind: str, tree: ast.Module) -> None:
        self.found = 0
        self._returns_input = kind == "input"
        self._own_names = own_callables(tree)
        self._attributes: list[list[str]] = []

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Change every statement."""
        node.body = self._statements(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Change the body of a class."""
        self._attributes.append(attributes_set(node))
        node.decorator_list = self._foreign_decorators(node.decorator_list)
        node.body = self._statements(node.body)
        self._attributes.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Change a function."""
        return self._replace_body(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Change an async function."""
        return self._replace_body(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Change a lambda."""
        self.found += 1
        drop_computed_defaults(node.args)
        node.body = ast.parse(self._stub_value(node.args, False), mode="eval").body
        return node

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for place, statement in enumerate(body):
            names = bound_names(statement)
            changed = self.visit(statement)
            plain = isinstance(statement, IMPORTS) or (place == 0 and is_docstring(statement))
            kept.append(changed if plain else guard(changed, names))
        return kept

    def _replace_body(self, node: Any) -> ast.AST:
        self.found += 1
        work = ast.parse("def work():\n    " + self._stub_body(node).replace("\n", "\n    ")).body[0]
        docstring = node.body[:1] if is_docstring(node.body[0]) else []  # it may hold examples to be tested
        node.decorator_list = self._foreign_decorators(node.decorator_list)
        drop_computed_defaults(node.args)
        node.body = docstring + work.body  # type: ignore[attr-defined]
        return node  # type: ignore[no-any-return]

    def _stub_body(self, node: Any) -> str:
        """Return the body of a function's stub."""
        decorators = [last_name(each) for each in node.decorator_list]
        method = bool(self._attributes) and "staticmethod" not in decorators
        every = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        if method and node.name == "__init__" and every:
            lines = [
                f"try: {every[0]}.{name} = None\nexcept Exception: pass" for name in self._attributes[-1]
            ]
            return "\n".join((*lines, "return None"))
        if method and node.name == "__new__" and every:
            return f"return super().__new__({every[0]})"
        if method and node.name in SILENT:
            return "return None"
        value = self._stub_value(node.args, method)
        if method and node.name in ENTERING and every and self._returns_input:
            value = every[0]
        if any(name in MANAGERS for name in decorators):
            return f"yield {value}"
        if is_generator(node):
            if not self._returns_input:
                return "return\nyield"
            if isinstance(node, ast.AsyncFunctionDef):
                return f"yield {value}"
        return f"return {value}"

    def _stub_value(self, args: ast.arguments, method: bool) -> str:
        """Write what a function returns."""
        if not self._returns_input:
            return "None"
        names = [each.arg for each in (*args.posonlyargs, *args.args)]
        if names and (method or names[0] in ("self", "cls")):
            names = names[1:]
        if names:
            return names[0]
        value = args.kwonlyargs[0].arg if args.kwonlyargs else "None"
        if args.kwarg is not None and value == "None":
            value = f"next(iter({args.kwarg.arg}.values()), None)"
        return f"{args.vararg.arg}[0] if {args.vararg.arg} else {value}" if args.vararg else value

    def _foreign_decorators(self, decorators: list[ast.expr]) -> list[ast.expr]:
        """Return the decorators that are not the candidate's own; `@name.setter` is a property's."""
        parts = ("setter", "getter", "deleter")
        own = self._own_names
        return [each for each in decorators if last_name(each) in parts or root_name(each) not in own]


def own_callables(tree: ast.Module) -> set[str]:
    """Name what the candidate itself defines to be called, outside of its functions."""
    names = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, DEFINITIONS):
            names.add(node.name)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            names.update(each.id for each in node.targets if isinstance(each, ast.Name))
        if not isinstance(node, FUNCTIONS):
            todo.extend(ast.iter_child_nodes(node))
    return names


def attributes_set(node: ast.ClassDef) -> list[str]:
    """Name the attributes that the methods of a class give to their first argument."""
    names = []
    for method in node.body:
        if isinstance(method, FUNCTIONS) and (every := [*method.args.posonlyargs, *method.args.args]):
            for part in ast.walk(method):
                stored = isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
                if stored and getattr(part.value, "id", "") == every[0].arg:  # type: ignore[attr-defined]
                    names.append(part.attr)  # type: ignore[attr-defined]
    return list(dict.fromkeys(names))


def bound_names(statement: ast.AST) -> list[str]:
    """Return the names that a statement binds in its own scope."""
    names = []
    todo = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, DEFINITIONS):
            names.append(node.name)
        elif isinstance(node, IMPORTS):
            names += [each.asname or each.name.split(".")[0] for each in node.names if each.name != "*"]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif not isinstance(node, INNER):
            todo.extend(ast.iter_child_nodes(node))
    return list(dict.fromkeys(names))


def guard(statement: ast.stmt, names: list[str]) -> ast.stmt:
    """Wrap a statement so that, if it fails, the names that it binds are None."""
    unset = (f"    try: {name}\n    except NameError: {name} = None\n" for name in names)
    attempt: Any = ast.parse("try: pass\nexcept BaseException:\n    pass\n" + "".join(unset)).body[0]
    attempt.body = [statement]
    return attempt  # type: ignore[no-any-return]


def drop_computed_defaults(args: ast.arguments) -> None:
    """Replace every default value that a call computes by None."""

    def plain(value: Any) -> Any:
        called = value is not None and any(isinstance(part, ast.Call) for part in ast.walk(value))
        return ast.Constant(None) if called else value

    args.defaults = [plain(value) for value in args.defaults]
    args.kw_defaults = [plain(value) for value in args.kw_defaults]


def is_generator(function: Any) -> bool:
    """Tell whether a function is a generator."""
    todo = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (*DEFINITIONS, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))
    return False


def is_docstring(statement: ast.stmt) -> bool:
    """Tell whether a statement is nothing but a text, as a docstring is."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def last_name(expression: ast.expr) -> str:
    """Return the last part of a decorator's name."""
    if isinstance(expression, ast.Call):
        expression = expression.func
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")


def root_name(expression: ast.AST) -> str:
    """Return the first part of a decorator's name."""
    while isinstance(expression, (ast.Call, ast.Attribute, ast.Subscript)):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return getattr(expression, "id", "")
