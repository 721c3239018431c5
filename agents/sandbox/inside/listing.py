"""Lists the tests of a program from its source, before any of it runs.

Standard library only, Python 3.8 or newer. The tests of a program are

- its functions whose names begin with "test", and what a statement binds to such a name, if it turns out to
  be a function (`test_one = partial(check, 1)`);
- the methods with such names of its classes, their own or those of another class of the source; of a class
  without any, `runTest`, as in unittest. A class from which others inherit tests, such as `class StackTests`
  in `class TestList(StackTests, TestCase)`, has none itself if it is no TestCase and not named `Test...`, if
  it is abstract, or if the program deletes it.

What looks like a test and is never run is listed too: a function with assertions that nothing calls, such as
the `check(candidate)` of HumanEval, and a test that a later one of the same name replaces.

The syntax tree comes from the compiler: importing `ast` would take longer than all the rest.
"""

from __future__ import annotations

import _ast
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, _ast.ClassDef)
SCOPES = (*DEFINITIONS, _ast.If)
NEVER_CALLED = "nothing in the program calls it"
REPLACED = "a later definition of the same name replaces it"


class Listing:
    """The tests of a source.

    Attributes:
        tests: By the name of a function or the path of a class ("TestA", "TestA.TestB"): the labels of the
            tests that the source defines there ("test_a", "TestA.test_b"). A name that may turn out to be a
            test has none.
        methods: The names of the methods that may be tests, of all classes; any class may inherit them.
        shared: The names of the classes that others inherit their tests from, and that have none themselves.
        unrun: Why something that looks like a test is none that could be run, by its label.
        parameters: The first parameter of a test that nothing gives a value to, by the test's label.
        uses_unittest: Whether the source imports unittest.
        error: Why the source could not be read; None where it was.
    """

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = {}
        self.methods: set[str] = set()
        self.shared: set[str] = set()
        self.unrun: dict[str, str] = {}
        self.parameters: dict[str, str] = {}
        self.uses_unittest = False
        self.error: BaseException | None = None

    @property
    def labels(self) -> list[str]:
        """The tests that the source defines."""
        return [label for labels in self.tests.values() for label in labels]

    def may_run(self, label: str) -> bool:
        """Return whether a test is in the source, by its own name or as an inherited method."""
        owner, _, name = label.rpartition(".")
        return owner in self.tests and name in self.methods if owner else name in self.tests


def read_tests(path: str) -> Listing:
    """List the tests of a file."""
    errors, sys.stderr = sys.stderr, None  # its warnings come when it is imported
    try:
        with open(path, "rb") as file:
            tree: Any = compile(file.read(), path, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
        return list_tests(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        listing = Listing()
        listing.error = error.with_traceback(None)
        return listing
    finally:
        sys.stderr = errors


def list_tests(tree: _ast.Module) -> Listing:
    """List the tests of a module.

    Args:
        tree: Its syntax tree.
    """
    nodes = list(walk(tree))
    listing = Listing()
    classes = {node.name: node for node, _ in nodes if isinstance(node, _ast.ClassDef)}
    blocks = [tree.body, *(each.body for each in classes.values())]
    replaced = {each for body in blocks for each in replaced_in(body)}
    listing.shared = shared_bases(tree, nodes, classes)
    listing.uses_unittest = any(
        (isinstance(node, _ast.alias) and node.name.partition(".")[0] == "unittest")
        or (isinstance(node, _ast.ImportFrom) and node.module == "unittest")
        for node, _ in nodes
    )
    paths: dict[Any, str] = {tree: ""}
    for node, owner in nodes:
        path = paths.get(owner)
        if isinstance(node, DEFINITIONS) and node in replaced:
            if is_test(node.name) or holds_tests(node):
                listing.unrun[f"{join(path, node.name)} (line {node.lineno})"] = REPLACED
        elif isinstance(node, _ast.ClassDef):
            # As pytest does, a class inside another one is taken only where both are named as tests.
            named = owner is tree or ((path or "").startswith("Test") and node.name.startswith("Test"))
            if path is not None and named and node.name not in listing.shared:
                paths[node] = join(path, node.name)
                listing.tests.setdefault(paths[node], [])
        elif isinstance(node, FUNCTIONS) and is_test(node.name):
            if isinstance(owner, _ast.ClassDef):
                listing.methods.add(node.name)
            if path is not None:
                label = join(path, node.name)
                labels = listing.tests.setdefault(path or label, [])
                labels += [label] * (label not in labels)
                if parameter := first_parameter(node, owner is not tree):
                    listing.parameters[label] = parameter
        elif is_test(name := bound_name(node)):
            if owner is tree:
                listing.tests.setdefault(name, [])
            elif isinstance(owner, _ast.ClassDef):
                listing.methods.add(name)
    for node, path in paths.items():
        if node is not tree and not listing.tests[path] and defines(node, "runTest"):
            listing.methods.add("runTest")
            listing.tests[path].append(join(path, "runTest"))
    listing.unrun.update((name, NEVER_CALLED) for name in never_called(tree, nodes, listing))
    return listing


def walk(tree: _ast.Module) -> Iterator[tuple[Any, Any]]:
    """Yield the nodes of a module in their order, each with the definition that it stands in.

    `if __name__ == "__main__"` counts as a definition: its body runs only in a program without tests.
    """
    todo: list[tuple[Any, Any]] = [(child, tree) for child in reversed(tree.body)]
    while todo:
        node, owner = todo.pop()
        yield node, owner
        if isinstance(node, SCOPES) and (not isinstance(node, _ast.If) or is_main_guard(node)):
            owner = node
        children: list[Any] = []
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                children += value
            elif isinstance(value, _ast.AST):
                children.append(value)
        # An operator or a context of a name has no fields.
        todo += [(each, owner) for each in reversed(children) if getattr(each, "_fields", ())]


def is_main_guard(node: _ast.If) -> bool:
    """Tell whether a condition is `if __name__ == "__main__"`."""
    compared: Any = node.test
    sides = (compared.left, *compared.comparators) if isinstance(compared, _ast.Compare) else ()
    return any(isinstance(each, _ast.Name) and each.id == "__name__" for each in sides)


def is_test(name: str) -> bool:
    """Tell whether a name is one of a test function."""
    return name.startswith("test")


def join(path: str | None, name: str) -> str:
    """Return the path of what a class or a module defines."""
    return f"{path}.{name}" if path else name


def holds_tests(node: Any) -> bool:
    """Tell whether a definition is a class with tests."""
    return isinstance(node, _ast.ClassDef) and any(
        isinstance(each, FUNCTIONS) and is_test(each.name) for each in node.body
    )


def defines(node: Any, name: str) -> bool:
    """Tell whether a class has a method of a name."""
    return any(isinstance(each, FUNCTIONS) and each.name == name for each in node.body)


def is_abstract(node: Any) -> bool:
    """Tell whether a class has an abstract method."""
    decorators = [each for method in node.body for each in getattr(method, "decorator_list", ())]
    return any(last_name(each) == "abstractmethod" for each in decorators)


def last_name(node: Any) -> str:
    """Return the last part of a dotted name; empty for another expression."""
    return str(getattr(node, "id", getattr(node, "attr", "")))


def raises_assertion(node: Any) -> bool:
    """Tell whether a statement raises AssertionError."""
    raised = node.exc if isinstance(node, _ast.Raise) else None
    return last_name(getattr(raised, "func", raised)) == "AssertionError"


def replaced_in(body: list[Any]) -> list[Any]:
    """List the definitions of a block that a later one of the same block replaces."""
    defined = [each for each in body if isinstance(each, DEFINITIONS)]
    last = {each.name: each for each in defined}
    return [each for each in defined if last[each.name] is not each]


def shared_bases(tree: _ast.Module, nodes: list[tuple[Any, Any]], classes: dict[str, Any]) -> set[str]:
    """Name the classes that have tests for others to inherit, and none to be run by themselves."""
    bases = {last_name(base) for each in classes.values() for base in each.bases}
    deleted = {
        node.id
        for node, owner in nodes
        if owner is tree and isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Del)
    }

    def is_plain(name: str, below: tuple[str, ...] = ()) -> bool:
        """Tell whether a class is of the source with all of its bases, and so no TestCase."""
        return name in ("object", "ABC") or (
            name in classes
            and name not in below
            and all(is_plain(last_name(base), (*below, name)) for base in classes[name].bases)
        )

    return {
        name
        for name in bases.intersection(classes)
        if name in deleted or is_abstract(classes[name]) or (not name.startswith("Test") and is_plain(name))
    }


def bound_name(node: Any) -> str:
    """Return the name that a node binds, other than by a definition; empty where it binds none."""
    if isinstance(node, _ast.Name):
        return node.id if isinstance(node.ctx, _ast.Store) else ""
    return node.asname or node.name if isinstance(node, _ast.alias) else ""


def first_parameter(node: Any, is_method: bool) -> str:
    """Name the first parameter without a default; none of a decorated function, which may be given values."""
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    required = names[: len(names) - len(node.args.defaults)][is_method:]
    required += [
        each.arg
        for each, default in zip(node.args.kwonlyargs, node.args.kw_defaults)  # noqa: B905 - Python 3.8
        if default is None
    ]
    return required[0] if required and not node.decorator_list else ""


def never_called(tree: _ast.Module, nodes: list[tuple[Any, Any]], listing: Listing) -> list[str]:
    """Name the functions that assert something and that nothing mentions; and unittest's `load_tests`.

    Not so methods, decorated functions, and functions that run tests of the list: somebody may call them.
    """
    functions = {
        node.name: node
        for node, owner in nodes
        if isinstance(node, FUNCTIONS)
        and not node.decorator_list
        and not node.name.startswith("assert")
        and node.name not in HOOKS
        and not (is_test(node.name) if owner is tree else isinstance(owner, (_ast.ClassDef, _ast.If)))
    }
    if not functions:
        return []
    owners = {node: owner for node, owner in nodes if isinstance(node, SCOPES)}
    mentions: dict[str, set[Any]] = {}  # where a name is mentioned, also in a text, as in globals()["check"]
    asserting = set()
    # A text that stands alone, such as a docstring, calls nothing, and neither does a list of exported names.
    calls_nothing = {node.value for node, _ in nodes if isinstance(node, _ast.Expr)}
    for node, _ in nodes:
        if isinstance(node, _ast.Assign) and any(last_name(each) == "__all__" for each in node.targets):
            calls_nothing.update(getattr(node.value, "elts", ()))
    for node, owner in nodes:
        if raises_assertion(node) or isinstance(node, _ast.Assert) or last_name(node).startswith("assert"):
            asserting.add(owner)
        if node in calls_nothing:
            continue
        name = last_name(node) or getattr(node, "value", None)
        if isinstance(name, str):
            mentions.setdefault(name, set()).add(owner)
    todo = [node for node in functions.values() if node in asserting]
    while todo:
        callers = mentions.get(todo.pop().name, set()).intersection(functions.values()) - asserting
        asserting |= callers
        todo += callers
    running = {owner for name in listing.tests for owner in mentions.get(name, ())}
    with_tests = bool(listing.labels)

    def may_call(owner: Any, node: Any) -> bool:
        """Tell whether what stands in a definition is run, and is not a part of a function itself."""
        if with_tests and isinstance(owner, _ast.If):
            return False
        while owner is not tree and owner is not node:
            owner = owners[owner]
        return owner is tree

    return [
        name
        for name, node in functions.items()
        if (node in asserting or name == "load_tests")
        and node not in running
        and not any(may_call(owner, node) for owner in mentions.get(name, ()))
    ]


HOOKS = (
    *("setUpModule", "tearDownModule", "setup_module", "teardown_module"),
    *("setup_function", "teardown_function"),
)
