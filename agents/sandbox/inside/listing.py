"""Lists the tests of a program from its source, before any of it runs.

Standard library only, Python 3.8 or newer. The tests of a program are

- its functions whose names begin with "test", and what a statement binds to such a name, if it turns out to
  be a function (`test_one = partial(check, 1)`);
- the methods with such names of its classes, their own or those of another class of the source; of a class
  without any, `runTest`, as in unittest. A class from which others inherit tests, such as `class StackTests`
  in `class TestList(StackTests, TestCase)`, has none itself if it is no TestCase and not named `Test...`, if
  it is abstract, or if the program deletes it.

What looks like a test and is never run is listed too: a test that a later one of the same name replaces, and
tests that stand where none are looked for. Whether any other function or method with assertions was run, such
as the `check(candidate)` of HumanEval, the run itself tells: each notes that it began.

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
BEGAN = "__began__"
REPLACED = "a later definition of the same name replaces it"
IN_ANOTHER_CLASS = "its class stands in another one, and not both are named Test..."
GUARDED = "it stands under a condition on __name__, which is false while tests are run"


class Listing:
    """The tests of a source.

    Attributes:
        tests: By the name of a function or the path of a class ("TestA", "TestA.TestB"): the labels of the
            tests that the source defines there ("test_a", "TestA.test_b"). A name that may turn out to be a
            test has none.
        methods: The names of the methods that may be tests, of all classes; any class may inherit them.
        shared: The names of the classes that others inherit their tests from, and that have none themselves.
        helpers: The names of tests that are none, since the source uses them otherwise: it calls them with
            arguments, or hands on what could not be run as a test.
        bodies: The scopes of tests with decorators, which may never call them, by the test's label.
        unrun: Why something that looks like a test is none that could be run, by its label.
        parameters: The first parameter of a test that nothing gives a value to, by the test's label.
        uses_unittest: Whether the source imports unittest.
        checks: The functions and methods with assertions that are no tests, by the number of their scope: the
            module is 0, and its definitions and guarded branches follow.
        mentions: By a name: the scopes that mention it, be it in a text, as in `globals()["check"]`.
        asserting: The scopes that assert something themselves, with the line of their last assertion.
        unmentioned: The checks that nothing in the source mentions; each is reported as not run, or as begun.
        guards: The scopes that are branches of a condition on `__name__`.
        began: The scopes that have begun. The marked source adds them to `__began__`, which is this.
        marked: The source's syntax tree, in which every scope notes that it began; None where none has to.
        error: Why the source could not be read; None where it was.
    """

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = {}
        self.methods: set[str] = set()
        self.shared: set[str] = set()
        self.helpers: set[str] = set()
        self.bodies: dict[str, int] = {}
        self.unrun: dict[str, str] = {}
        self.parameters: dict[str, str] = {}
        self.uses_unittest = False
        self.checks: dict[int, Check] = {}
        self.mentions: dict[str, set[int]] = {}
        self.asserting: dict[int, int] = {}
        self.unmentioned: list[str] = []
        self.guards: list[int] = []
        self.began = {0}
        self.marked: _ast.Module | None = None
        self.error: BaseException | None = None

    @property
    def labels(self) -> list[str]:
        """The tests that the source defines."""
        return [label for labels in self.tests.values() for label in labels]

    def may_run(self, label: str) -> bool:
        """Return whether a test is in the source, by its own name or as an inherited method."""
        owner, _, name = label.rpartition(".")
        return owner in self.tests and name in self.methods if owner else name in self.tests

    def never_began(self, *, bad: bool) -> list[str]:
        """Name the checks that were not run, once all tests were.

        They are those that nothing that was run mentions, and those whose names say that they check.
        A name that begins with "assert" is taken for auxiliary, unless nothing was asserted at all.

        Args:
            bad: Whether something failed, after which not all that would have been called was. Then only
                a check that nothing mentions is named.
        """
        unknown = bad or any(name in self.mentions for name in PROCESSES)
        auxiliary = unknown or not self.began.isdisjoint(self.asserting)
        begun = {check.name for number, check in self.checks.items() if number in self.began}
        found = []
        for number, check in self.checks.items():
            mentioned = set().union(*(self.mentions.get(name, ()) for name in check.names)) - {number}
            is_used = check.is_kept or bool(mentioned if unknown else mentioned & self.began)
            is_missed = check.is_named and not unknown and not (check.is_kept and mentioned)
            # Of several with one name, such as for two versions of Python, one was chosen.
            is_missed = is_missed and check.name not in begun
            if number not in self.began and not (auxiliary and check.name.startswith("assert")):
                found += [check.label] * (is_missed or not is_used)
        return found

    def unreached(self, line: int) -> list[str]:
        """Name the assertions outside of functions after the line at which the program ended itself."""
        scopes = {0, *(() if self.labels else self.guards)}
        return [
            f"line {self.asserting[each]}" for each in sorted(scopes) if self.asserting.get(each, 0) > line
        ]


class Check:
    """A function or method with assertions that is no test.

    Attributes:
        name: Its name.
        label: Its name, after that of its class.
        names: What calls it mentions one of these: its name, or its class, whose objects the code may use.
        is_named: Whether its name says that it checks something; a callback in another function may say so.
        is_kept: Whether a decorator may have kept it for others to call.
    """

    def __init__(self, node: Any, owner: Any, imported: set[str], *, is_inner: bool) -> None:
        self.name: str = node.name
        self.label = join(owner.name if isinstance(owner, _ast.ClassDef) else "", node.name)
        self.names = {node.name}
        self.is_named = (
            not is_inner and node.name not in imported and not words_of(node.name).isdisjoint(CHECKING)
        )
        decorators = [last_name(getattr(each, "func", each)) for each in node.decorator_list]
        self.is_kept = any(name not in WRAPPERS for name in decorators)


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
    """List the tests of a module."""
    nodes = list(walk(tree))
    listing = Listing()
    classes = {node.name: node for node, _ in nodes if isinstance(node, _ast.ClassDef)}
    blocks = [tree.body, *(each.body for each in classes.values())]
    replaced = {each for body in blocks for each in replaced_in(body)}
    guarded = {}
    uses = Uses(nodes)
    bases = {last_name(base) for each in classes.values() for base in each.bases}
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
            elif holds_tests(node) and isinstance(owner, _ast.If):
                guarded[node.name] = GUARDED
            elif holds_tests(node) and isinstance(owner, _ast.ClassDef) and node.name not in bases:
                listing.unrun[join(paths.get(owner) or owner.name, node.name)] = IN_ANOTHER_CLASS
        elif isinstance(node, FUNCTIONS) and is_helper(node, owner, uses):
            listing.helpers.add(node.name)
        elif isinstance(node, FUNCTIONS) and is_test(node.name):
            if isinstance(owner, _ast.ClassDef):
                listing.methods.add(node.name)
            if path is not None:
                label = join(path, node.name)
                labels = listing.tests.setdefault(path or label, [])
                labels += [label] * (label not in labels)
                if parameter := first_parameter(node, owner is not tree):
                    listing.parameters[label] = parameter
            elif isinstance(owner, _ast.If):
                guarded[node.name] = GUARDED
        elif is_test(name := bound_name(node)):
            if name in uses.called:
                listing.helpers.add(name)
            elif owner is tree:
                listing.tests.setdefault(name, [])
            elif isinstance(owner, _ast.ClassDef):
                listing.methods.add(name)
    for node, path in paths.items():
        if node is not tree and not listing.tests[path] and defines(node, "runTest"):
            listing.methods.add("runTest")
            listing.tests[path].append(join(path, "runTest"))
    if listing.labels:
        listing.unrun.update(guarded)
    known = {
        node
        for node, path in paths.items()
        if node is not tree
        and (listing.tests[path] or any(last_name(base).endswith("TestCase") for base in node.bases))
        and all(name in classes or name.endswith("TestCase") for name in map(last_name, node.bases))
    }
    mark_scopes(tree, nodes, known, listing)
    return listing


def walk(tree: _ast.Module) -> Iterator[tuple[Any, Any]]:
    """Yield the nodes of a module in their order, each with the definition whose body it stands in.

    `if __name__ == "__main__"` counts as a definition: its body runs only in a program without tests.
    """
    todo: list[tuple[Any, Any]] = [(child, tree) for child in reversed(tree.body)]
    while todo:
        node, owner = todo.pop()
        yield node, owner
        inner = body_of(node)
        children: list[tuple[Any, Any]] = []
        for name in node._fields:
            value = getattr(node, name, None)
            for each in value if isinstance(value, list) else [value]:
                # An operator or a context of a name has no fields.
                if getattr(each, "_fields", ()):
                    children.append((each, node if name == inner else owner))
        todo += reversed(children)


def body_of(node: Any) -> str:
    """Name the field of a node that is a scope of its own: the body of a definition.

    Of a condition on `__name__` it is the branch of the program's own run. Empty for any other node.
    """
    if isinstance(node, DEFINITIONS):
        return "body"
    compared = node.test if isinstance(node, _ast.If) else None
    if not isinstance(compared, _ast.Compare):
        return ""
    if not any(getattr(each, "id", "") == "__name__" for each in (compared.left, *compared.comparators)):
        return ""
    return "orelse" if isinstance(compared.ops[0], _ast.NotEq) else "body"


def is_test(name: str) -> bool:
    """Tell whether a name is one of a test function."""
    return name.startswith("test")


class Uses:
    """The names that a source calls and reads, and its generators.

    Attributes:
        called: The names of what it calls with arguments.
        read: The names that it reads.
        generators: Its generator functions.
    """

    def __init__(self, nodes: list[tuple[Any, Any]]) -> None:
        self.called: set[str] = set()
        self.read: set[str] = set()
        self.generators: set[Any] = set()
        for node, owner in nodes:
            if isinstance(node, _ast.Call) and (node.args or node.keywords):
                self.called.add(last_name(node.func))
            elif isinstance(node, (_ast.Name, _ast.Attribute)) and isinstance(node.ctx, _ast.Load):
                self.read.add(last_name(node))
            elif isinstance(node, (_ast.Yield, _ast.YieldFrom)):
                self.generators.add(owner)


def is_helper(node: Any, owner: Any, uses: Uses) -> bool:
    """Tell whether a function with the name of a test gets values from others, or could not be run alone."""
    in_class = isinstance(owner, _ast.ClassDef)
    given = node.args
    has_parameters = len(given.posonlyargs + given.args) > in_class or given.vararg or given.kwonlyargs
    return is_test(node.name) and bool(
        (node.name in uses.called and has_parameters)
        or (node.name in uses.read and (first_parameter(node, in_class) or node in uses.generators))
    )


def words_of(name: str) -> set[str]:
    """Return the words in a name: {"is", "valid"} of `is_valid` and `isValid`."""
    return set("".join("_" + each if each.isupper() else each for each in name).lower().split("_"))


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
    """List the definitions of a block that a later one, in the block or in a statement of it, replaces."""
    defined = [(each, place) for place, each in enumerate(body) if isinstance(each, DEFINITIONS)]
    last = {
        each.name: place
        for place, statement in enumerate(body)
        for each in ([statement] if isinstance(statement, DEFINITIONS) else defined_within(statement))
    }
    return [each for each, place in defined if last[each.name] != place]


def defined_within(statement: Any) -> list[Any]:
    """List the definitions in the branches of a statement that are executed with it."""
    found: list[Any] = []
    skipped = body_of(statement)
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in (name != skipped and getattr(statement, name, None)) or ():
            found += [each] if isinstance(each, DEFINITIONS) else defined_within(each)
    return found


def shared_bases(tree: _ast.Module, nodes: list[tuple[Any, Any]], classes: dict[str, Any]) -> set[str]:
    """Name the classes that have tests for others to inherit, and none to be run by themselves."""
    bases = {last_name(base) for each in classes.values() for base in each.bases}
    deleted = {
        node.id
        for node, owner in nodes
        if owner is tree and isinstance(node, _ast.Name) and isinstance(node.ctx, _ast.Del)
    }

    owners = dict(nodes)
    # They call `self.assertEqual` and the like, which only their heirs have.
    asserting = {
        getattr(owners.get(owner), "name", "")
        for node, owner in nodes
        if isinstance(node, _ast.Attribute)
        and node.attr.startswith("assert")
        and last_name(node.value) == "self"
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
        if name in deleted
        or is_abstract(classes[name])
        or (is_plain(name) and (not name.startswith("Test") or name in asserting))
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


def mark_scopes(tree: _ast.Module, nodes: list[tuple[Any, Any]], known: set[Any], listing: Listing) -> None:
    """List what asserts something and is no test, and let every scope note that it began.

    Args:
        tree: The module, whose definitions get a statement more.
        nodes: All of its nodes, with the definitions they stand in.
        known: The classes of tests of which all bases are known.
        listing: The tests.
    """
    scopes = [tree, *(node for node, _ in nodes if body_of(node))]
    numbers = {scope: number for number, scope in enumerate(scopes)}
    # A text that stands alone, such as a docstring, calls nothing, and neither does a list of exported names.
    calls_nothing = {node.value for node, _ in nodes if isinstance(node, _ast.Expr)}
    for node, _ in nodes:
        if isinstance(node, _ast.Assign) and any(last_name(each) == "__all__" for each in node.targets):
            calls_nothing.update(getattr(node.value, "elts", ()))
    for node, owner in nodes:
        if raises_assertion(node) or isinstance(node, _ast.Assert) or last_name(node).startswith("assert"):
            listing.asserting[numbers[owner]] = node.lineno
        name = "" if node in calls_nothing else last_name(node) or getattr(node, "value", None)
        if isinstance(name, str):
            listing.mentions.setdefault(name, set()).add(numbers[owner])
    runners = set().union(*(listing.mentions.get(name, ()) for name in LOOKUPS))
    owners = dict(nodes)
    # What stands in for an import that failed has its name.
    imported = {node.asname or node.name for node, _ in nodes if isinstance(node, _ast.alias)}
    for node, owner in nodes:
        number = numbers.get(node, 0)
        if isinstance(node, FUNCTIONS) and (number in listing.asserting or node.name == "load_tests"):
            in_class = isinstance(owner, _ast.ClassDef)
            is_inner = isinstance(owners.get(owner) if in_class else owner, FUNCTIONS)
            # A fake of the tests may have a method `validate`.
            is_fake = in_class and owner not in known and not (is_inner and is_test(node.name))
            check = Check(node, owner, imported, is_inner=is_fake or (is_inner and not in_class))
            is_run = is_test(node.name) and not is_inner and node.name not in listing.helpers
            # What a class of another module calls of its heirs is not known.
            is_open = in_class and owner not in known and (owner.bases or owner.keywords) and not is_inner
            if in_class and owner not in known:
                check.names.add(owner.name)
            if number not in runners and node.name not in HOOKS and not is_run and not is_open:
                listing.checks[number] = check
            label = join(owner.name if in_class else "", node.name)
            if is_run and node.decorator_list and label in listing.labels:
                listing.bodies[label] = number
    listing.guards = [number for scope, number in numbers.items() if isinstance(scope, _ast.If)]
    for number in listing.guards if listing.labels else ():
        if number in listing.asserting:
            listing.unrun[f"__main__ (line {scopes[number].lineno})"] = GUARDED
    listing.unmentioned = listing.never_began(bad=True)
    if listing.checks or listing.bodies:
        for scope, number in numbers.items():
            note_beginning(scope, number)
        listing.marked = tree


def note_beginning(scope: Any, number: int) -> None:
    """Put a statement at the beginning of a scope that adds its number to those that began."""
    body = getattr(scope, body_of(scope), None)
    if not body:
        return  # the module, or `if __name__ != "__main__"` without another branch
    fields = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    place = {name: getattr(body[0], name) for name in fields}
    add = _ast.Attribute(_ast.Name(BEGAN, _ast.Load(), **place), "add", _ast.Load(), **place)
    call = _ast.Call(add, [_ast.Constant(number, kind=None, **place)], [], **place)
    described = isinstance(scope, DEFINITIONS) and isinstance(body[0], _ast.Expr)
    body.insert(int(described and isinstance(body[0].value, _ast.Constant)), _ast.Expr(call, **place))


# What unittest and pytest call besides the tests, unless a test or a set-up failed before.
HOOKS = (
    *("setUpModule", "tearDownModule", "setup_module", "teardown_module"),
    *("setup_function", "teardown_function"),
    *("setUp", "tearDown", "asyncSetUp", "asyncTearDown", "setUpClass", "tearDownClass"),
    *("setup_method", "teardown_method", "setup_class", "teardown_class", "runTest"),
)
# What finds functions by names that the source does not tell.
LOOKUPS = (
    *("globals", "locals", "vars", "dir", "getmembers", "__dict__"),
    *("loadTestsFromModule", "loadTestsFromTestCase", "TestSuite", "TextTestRunner", "discover"),
)
# Decorators that call a function at no time by themselves, and keep it for nobody.
WRAPPERS = ("cache", "lru_cache", "wraps", "contextmanager", "staticmethod", "classmethod", "patch")
# What begins in another process is not noted here.
PROCESSES = ("multiprocessing", "Process", "Pool", "ProcessPoolExecutor", "fork")
CHECKING = frozenset(
    ("check", "checks", "test", "tests", "verify", "verifies", "valid", "validate", "validates", "ensure")
)
