"""The tests of a loaded program, and how each is run between its set-ups and tear-downs.

Standard library only, Python 3.8 or newer. Methods of a TestCase are run by unittest. Functions, and methods
of other classes, are run here with the set-ups that pytest gives them: pytest is in no environment by itself,
and to start it would take longer than most programs run.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterator
    from typing import Any

    from agents.sandbox.inside.listing import Listing

    Case = tuple[str, Callable[["Attempt"], None]]
    """A test: its label, and what runs it between its own set-up and tear-down."""

# The set-ups and tear-downs of unittest and pytest. A class that is no TestCase has those of both.
MODULE_HOOKS = ("setUpModule", "setup_module"), ("tearDownModule", "teardown_module")
CLASS_HOOKS = ("setUpClass", "setup_class"), ("tearDownClass", "teardown_class")
METHOD_HOOKS = ("setUp", "setup_method"), ("tearDown", "teardown_method")
SKIPS = ("unittest.case.SkipTest", "_pytest.outcomes.Skipped")
# The marks of pytest that change whether and how a test is run; here nothing obeys them.
MARKS = ("skip", "skipif", "xfail", "usefixtures")
# The attributes that lead from a callable to what it calls.
LEADING = ("__wrapped__", "__func__", "func", "__partialmethod__", "_partialmethod")


class NotRun(Exception):
    """A test could not be run."""


class Attempt:
    """One run of a test, with its set-ups and tear-downs.

    Attributes:
        error: The first thing that went wrong.
        in_set_up: Whether that was before the test itself began.
        began: Whether the test itself has begun.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.in_set_up = False
        self.began = False

    def keep(self, error: BaseException) -> None:
        """Keep an exception, if it is the first one."""
        if self.error is None:
            self.error, self.in_set_up = error, not self.began

    def guard(self, call: Callable[..., object], *arguments: object) -> None:
        """Call something, and keep what it raises."""
        try:
            call(*arguments)
        except BaseException as error:  # noqa: BLE001 - whatever a test raises is its outcome
            self.keep(error)

    def run_test(self, test: Callable[[], object]) -> None:
        """Run the test itself, and keep what it raises."""
        self.began = True
        self.guard(call_test, test)


class Shared:
    """The set-up and tear-down that the tests of a class, or of the module, share.

    The set-up is run before the first test; where it fails, none of the tests is run.
    """

    def __init__(self, owner: Any, hooks: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
        self._owner = owner
        self._set_up, self._tear_down = hooks
        self._entered = False
        self._error: BaseException | None = None

    def enter(self) -> None:
        """Run the set-up, or raise again what it raised before."""
        if self._error is not None:
            raise self._error
        if self._entered:
            return
        self._entered = True
        try:
            if getattr(self._owner, "__unittest_skip__", False):
                raise sys.modules["unittest"].SkipTest(getattr(self._owner, "__unittest_skip_why__", ""))
            refuse_automatic_fixture(self._owner)
            call_hooks(self._owner, self._set_up, self._owner)
        except BaseException as error:
            self._error = error
            raise

    def leave(self) -> None:
        """Run the tear-down, if the set-up was run to its end, and the clean-ups that unittest was given."""
        try:
            if self._entered and self._error is None:
                call_hooks(self._owner, self._tear_down, self._owner)
        finally:
            unittest = sys.modules.get("unittest")
            if unittest is not None and not isinstance(self._owner, type):
                unittest.case.doModuleCleanups()
            elif unittest is not None and issubclass(self._owner, unittest.TestCase):
                self._owner.doClassCleanups()
                for _, error, _ in self._owner.tearDown_exceptions:
                    raise error


def find_cases(module: types.ModuleType, listing: Listing) -> list[tuple[type | None, list[Case]]]:
    """Find the tests of the source in the loaded module.

    Returns:
        The tests of each class, and of no class.
    """
    groups: list[tuple[type | None, list[Case]]] = []
    for name, labels in listing.tests.items():
        found: Any = module
        for part in name.split("."):
            found = getattr(found, part, None)
        if isinstance(found, type):
            if (found.__module__, found.__qualname__) == (module.__name__, name):
                methods: dict[str, None] = {}
                for kind in reversed(found.__mro__):
                    methods.update((key, None) for key in vars(kind) if key in listing.methods)
                unittest = sys.modules.get("unittest")
                of_unittest = unittest is not None and issubclass(found, unittest.TestCase)
                make = make_unittest_case if of_unittest else make_method_case
                cases = [
                    (f"{name}.{key}", make(found, key))
                    for key in methods
                    if is_own(module, getattr(found, key, None))
                    or (f"{name}.{key}" in labels and callable(getattr(found, key, None)))
                ]
                groups += [(found, cases)] * bool(cases)
        elif is_own(module, found) or is_closure(found) or (name in labels and callable(found)):
            groups.append((None, [(name, make_function_case(module, found))]))
    return groups


def made_tests(module: types.ModuleType, listing: Listing, *, classes: bool) -> Iterator[str]:
    """Name the tests that are in the loaded module and not in its source."""
    for name, value in list(vars(module).items()):
        if not isinstance(value, type):
            is_test = str(name).startswith("test") and name not in listing.helpers
            if is_test and is_own(module, value):
                yield name
        elif classes and value.__module__ == module.__name__:
            path = value.__qualname__
            known = listing.methods if path in listing.tests or path in listing.shared else ()
            keys = dict.fromkeys(key for kind in reversed(value.__mro__) for key in vars(kind))
            for key in keys:
                is_test = key.startswith("test") and key not in known and key not in listing.helpers
                if is_test and is_own(module, getattr(value, key, None)):
                    yield f"{path}.{key}"


def is_own(module: types.ModuleType, value: object) -> bool:
    """Tell whether something is a function of the test module, and not one that it imported."""
    return getattr(function_behind(value), "__globals__", None) is vars(module)


def is_closure(value: object) -> bool:
    """Tell whether something is a function that another one made, such as a decorator of the tested code."""
    return "<locals>" in getattr(function_behind(value), "__qualname__", "")


def function_behind(value: Any) -> object:
    """Return the function that a method, a partial or a decorated function leads to; None for none."""
    for _ in range(20):
        try:
            steps = (getattr(value, name, None) for name in LEADING)
            following = next((each for each in steps if each is not None), None)
        except Exception:  # noqa: BLE001 - an object of the program may raise anything
            return None
        if following is None or isinstance(value, type):
            break
        value = following
    return value if isinstance(value, type(function_behind)) else None


def make_function_case(module: types.ModuleType, test: Callable[[], object]) -> Callable[[Attempt], None]:
    """Make what runs a test function."""

    def run(attempt: Attempt) -> None:
        refuse_mark(module, test)
        call_hooks(module, ("setup_function",), test)
        attempt.run_test(test)
        call_hooks(module, ("teardown_function",), test)

    return run


def began_by(call: Callable[[Attempt], None], body: int, began: set[int]) -> Callable[[Attempt], None]:
    """Make what runs a test with decorators, and raises `NotRun` where none of them called it."""

    def run(attempt: Attempt) -> None:
        call(attempt)
        if attempt.error is None and body not in began:
            raise NotRun("its decorator did not call it")

    return run


def make_method_case(kind: Any, name: str) -> Callable[[Attempt], None]:
    """Make what runs a method of a test class."""

    def run(attempt: Attempt) -> None:
        instance = kind()
        test = getattr(instance, name)
        refuse_mark(sys.modules[kind.__module__], kind, test)
        call_hooks(instance, METHOD_HOOKS[0], test)
        attempt.run_test(test)
        call_hooks(instance, METHOD_HOOKS[1], test)

    return run


def make_unittest_case(kind: Any, name: str) -> Callable[[Attempt], None]:
    """Make what has unittest run a method of one of its classes."""
    import inspect  # unittest has imported it already

    unittest: Any = sys.modules["unittest"]

    def run(attempt: Attempt) -> None:
        class Result(unittest.TestResult):  # type: ignore[misc]
            def addError(self, _test: object, error: tuple[Any, BaseException, Any]) -> None:
                attempt.keep(error[1])

            addFailure = addError

            def addSkip(self, _test: object, reason: str) -> None:
                attempt.keep(unittest.SkipTest(reason))

            def addSubTest(self, test: object, _part: object, error: Any) -> None:
                if error is not None:
                    self.addError(test, error)

            def addExpectedFailure(self, _test: object, _error: object) -> None:
                pass

            def addUnexpectedSuccess(self, _test: object) -> None:
                attempt.keep(AssertionError("passed, and was expected to fail"))

        case = kind(name)
        test = getattr(case, name)
        refuse_mark(sys.modules[kind.__module__], kind, test)

        def body() -> None:
            attempt.began = True
            call_test(test)

        async def body_in_its_loop() -> None:
            attempt.began = True
            try:
                coroutine = test()
            except TypeError as error:
                refuse_unentered(error, test)
                raise
            await coroutine

        # unittest's own class for asynchronous tests runs them itself, in the loop of their set-up.
        in_loop = hasattr(case, "asyncSetUp") and inspect.iscoroutinefunction(test)
        wrapped: Any = body_in_its_loop if in_loop else body
        vars(wrapped).update(getattr(test, "__dict__", {}))  # what its decorators say to unittest
        setattr(case, name, wrapped)
        call_hooks(case, ("setup_method",), test)
        case.run(Result())
        call_hooks(case, ("teardown_method",), test)

    return run


def is_skip(error: BaseException) -> bool:
    """Tell whether an exception says that a test is skipped."""
    return any(f"{kind.__module__}.{kind.__name__}" in SKIPS for kind in type(error).__mro__)


def call_test(test: Callable[[], object]) -> None:
    """Call a test; one that cannot be called, or whose call runs nothing of it, has not failed."""
    try:
        await_or_refuse(test())
    except TypeError as error:
        refuse_unentered(error, test)
        raise


def refuse_unentered(error: TypeError, test: object) -> None:
    """Raise `NotRun` if an exception came before the first line of a test was run.

    So it is where a parameter has no value: there are no fixtures here.
    """
    code = getattr(function_behind(test), "__code__", None)
    place = error.__traceback__
    while code is not None and place is not None:
        if place.tb_frame.f_code is code:
            return
        place = place.tb_next
    if code is not None:
        raise NotRun(str(error)) from None


def call_hooks(owner: object, names: tuple[str, ...], argument: object) -> None:
    """Call those of some functions that there are; one with a parameter gets the argument."""
    for name in names:
        hook = getattr(owner, name, None)
        if callable(hook):
            function: Any = getattr(hook, "__func__", hook)
            parameters = getattr(getattr(function, "__code__", None), "co_argcount", 0)
            takes_it = parameters > (function is not hook)
            await_or_refuse(hook(argument) if takes_it else hook())


def refuse_mark(*owners: object) -> None:
    """Raise `NotRun` if a test, its class or its module has a mark of pytest that is not obeyed here."""
    for owner in owners if "pytest" in sys.modules else ():
        marks: Any = getattr(owner, "pytestmark", ())
        for mark in marks if isinstance(marks, (list, tuple)) else (marks,):
            if getattr(mark, "name", "") in MARKS:
                raise NotRun(f"pytest's mark {mark.name} is not obeyed here")


def refuse_automatic_fixture(owner: object) -> None:
    """Raise `NotRun` if a class or module has a fixture of pytest that every test of it would use."""
    for name, value in list(vars(owner).items()) if "pytest" in sys.modules else ():
        for marker in ("_fixture_function_marker", "_pytestfixturefunction"):  # of pytest 8.4, and before
            if getattr(getattr(value, marker, None), "autouse", False) is True:
                raise NotRun(f"pytest's fixture {name} is not run here")


def await_or_refuse(result: object) -> None:
    """Run an async test to its end; a generator never ran, which must not count as passed."""
    if result is None:
        return
    import types

    if isinstance(result, types.CoroutineType):
        import asyncio

        asyncio.run(result)
    elif isinstance(result, (types.GeneratorType, types.AsyncGeneratorType)):
        raise TypeError("the test is a generator function: calling it runs nothing")
    elif hasattr(type(result), "__await__"):
        raise TypeError("the test returned what has to be awaited, and is no coroutine: nothing was run")
