"""The errors that users are told of: the tree in the module's text is the whole of it."""

import importlib
import inspect
import pkgutil
import re

import agents
import screens
import store
import workbench
from store import errors
from store.errors import WorkbenchError


def below(kind):
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


def test_the_tree_names_every_error_where_it_is():
    for package in (store, agents, screens, workbench):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    ours = [kind for kind in below(WorkbenchError) if kind.__module__.split(".")[0] in ("store", "agents")]
    drawn = re.findall(
        r"^([│ ]*)[├└]── (\w+) .*?(?:\(((?:agents|store)\.[\w.]*)\))?$", errors.__doc__, re.MULTILINE
    )
    assert {(name, len(indent) // 4, where or "store.errors") for indent, name, where in drawn} == {
        (kind.__name__, len(inspect.getmro(kind)) - len(inspect.getmro(WorkbenchError)) - 1, kind.__module__)
        for kind in ours
    }


def test_the_exported_names_are_the_errors_of_the_module():
    classes = [name for name, value in vars(errors).items() if inspect.isclass(value)]
    assert sorted(errors.__all__) == sorted(name for name in classes if name != "Sequence")
    assert errors.__all__ == sorted(errors.__all__)


def test_a_message_and_its_hint_stay_two_sentences():
    told = [
        str(WorkbenchError("Refused", message, "Try again.")) for message in ("the service said: no", "No.")
    ]
    assert told == ["Refused: the service said: no. Try again.", "Refused: No. Try again."]
    assert str(WorkbenchError("Refused", "no")) == "Refused: no"
