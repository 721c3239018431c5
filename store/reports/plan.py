"""The plan of a study: how many queries and items it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from store.errors import WorkbenchError
from store.formatting import pluralize
from store.reports.options import Options
from store.reports.value import NONE, Cell, Report, Row, Table, counted, facts, filled, number

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.analysis.labels import QuestionLabels
    from store.kinds.spec import NamedQuestion, TaskKind
    from store.measures.planning import Design, IntervalPlan

Source = Literal["given", "workspace", "default"]

HALF_WIDTHS = (0.1, 0.05, 0.03)
"""Half-widths that are planned for besides the one that is given."""
LEAST_HALF_WIDTH = 0.001
MOST_COMPARED = 100_000
"""Items of McNemar's test, whose power takes a second for so many."""
MOST_PER_QUERY = 1_000

_DEFAULTS: Mapping[str, tuple[float, str]] = {
    # Krippendorff draws tentative conclusions from this on ("Content Analysis", chapter 11).
    "alpha": (0.667, "the least for tentative conclusions"),
    "rater_count": (3, ""),
    "prevalence": (0.5, "both answers alike"),
    "accuracy": (0.8, ""),
    "per_query": (1, ""),
    "correlation": (0.2, ""),
}

_BETWEEN: tuple[str, Callable[[float], bool]] = ("above 0 and below 1", lambda value: 0 < value < 1)
_SHARE: tuple[str, Callable[[float], bool]] = ("from 0 to 1", lambda value: 0 <= value <= 1)
_RANGES: Mapping[str, tuple[str, Callable[[float], bool]]] = {
    **dict.fromkeys(("alpha", "prevalence", "accuracy", "power", "significance"), _BETWEEN),
    "half_width": (
        f"from {LEAST_HALF_WIDTH:g} to below 1",
        lambda value: LEAST_HALF_WIDTH <= value < 1,
    ),
    "correlation": ("from 0 to below 1", lambda value: 0 <= value < 1),
    **dict.fromkeys(("p10", "p01"), _SHARE),
}
"""The range of each number, in words and as a condition, which is not true of NaN either."""


def _check(options: Options) -> None:
    """Refuse numbers that nothing can be planned with.

    Raises:
        WorkbenchError: One is out of range, or one of the two shares is missing.
    """
    for name, (range_, holds) in _RANGES.items():
        value = getattr(options, name)
        if value is not None and not holds(value):
            raise WorkbenchError(
                "Out of range",
                f"--{name.replace('_', '-')} is {value:g}; it has to be {range_}.",
                "Shares and half-widths are no percentages: 5 % is 0.05.",
            )
    if (options.p10 is None) != (options.p01 is None):
        missing = "--p01" if options.p01 is None else "--p10"
        raise WorkbenchError(
            "Share missing",
            "McNemar's test is planned from two shares: of the items that only the first method has "
            "right, and of those that only the second has.",
            f"Give {missing}, too.",
        )
    if options.p10 is not None and options.p01 is not None and not 0 < options.p10 + options.p01 <= 1:
        raise WorkbenchError(
            "Out of range",
            f"--p10 {options.p10:g} and --p01 {options.p01:g} are shares of the same items: their sum has to "
            "be above 0, and at most 1.",
            "Give the share of items that only one of both methods has right.",
        )


@dataclass(frozen=True, slots=True)
class Input:
    """A number that the plan rests on.

    Attributes:
        value: The number.
        source: Whether it was given, estimated from the workspace, or is a default.
        detail: What it was estimated from, or why it is this default.
    """

    value: float
    source: Source
    detail: str = ""

    @property
    def text(self) -> str:
        """The number with its source, for people."""
        words = {"given": "given", "workspace": "from the workspace", "default": "default"}[self.source]
        number = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:.3g}"
        return f"{number} ({words}{': ' if self.detail else ''}{self.detail})"


@dataclass(frozen=True, slots=True)
class _Pilot:
    """What the plan takes from the workspace.

    Attributes:
        queries: The groups of items in the workspace, such as queries.
        items: Its items of the question's kind.
        inputs: The numbers, by name.
    """

    question: NamedQuestion
    queries: int
    items: int
    inputs: Mapping[str, Input]

    @property
    def kind(self) -> TaskKind:
        """The kind of the items."""
        return self.question.kind

    @property
    def per_query(self) -> int:
        """Items of each group."""
        return int(self.inputs["per_query"].value) if self.grouped else 1

    @property
    def grouped(self) -> bool:
        """Whether items form groups; otherwise each is its own."""
        return bool(self.kind.record.group)

    @property
    def several(self) -> str:
        """The word for groups of items, such as "queries"."""
        group = self.kind.record.group
        return {"": self.kind.plural, "query": "queries"}.get(group, f"{group}s")


@dataclass(frozen=True, slots=True)
class _McNemar:
    """The plan of a comparison of two methods.

    Attributes:
        items: The number of items; None where none is known.
        p10: The share of them that only the first method has right.
        p01: The share that only the second one has right.
        significance: The level of the test.
        power: The power with so many items.
        wanted_power: The wanted power.
        items_needed: The items with which the test has it.
        why: Why there are none; empty where there are.
    """

    items: Input | None
    p10: float
    p01: float
    significance: float
    power: float | None
    wanted_power: float
    items_needed: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan: the queries that a study needs.

    Attributes:
        pilot: What it takes from the workspace.
        widths: The plan of the interval of each measure, `alpha` and `accuracy`.
        test: The plan of a comparison of two methods; None where it was not asked for.
    """

    pilot: _Pilot
    widths: Mapping[str, IntervalPlan]
    test: _McNemar | None
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        pilot, widths = self.pilot, self.widths
        return {
            "question": pilot.question.spec.name,
            "cluster": pilot.kind.record.group or pilot.kind.singular,
            "queries": pilot.queries,
            "items": pilot.items,
            "seed": self.seed,
            "inputs": {name: asdict(each) for name, each in pilot.inputs.items()},
            **{name: None for name in ("alpha", "accuracy") if name not in widths},
            **{name: each.to_dict(pilot.per_query) for name, each in widths.items()},
            "mcnemar": None if self.test is None else asdict(self.test),
        }


def read_plan(connection: Connection, options: Options) -> Plan:
    """Plan a study with the numbers that are given; others are estimated from labels, or are defaults.

    Raises:
        WorkbenchError: A number is out of range, a name is unknown, or a blind review would have to read
            labels.
    """
    _check(options)
    pilot = _pilot(connection, options)
    wanted = HALF_WIDTHS if options.half_width is None else (*HALF_WIDTHS, options.half_width)
    widths = _widths(pilot, sorted(set(wanted), reverse=True), options.seed or 0)
    test = None if options.p10 is None or options.p01 is None else _mcnemar(pilot, options)
    return Plan(pilot, widths, test, options.seed or 0)


def _pilot(connection: Connection, options: Options) -> _Pilot:
    """Return every number of the plan, with its source."""
    from sqlalchemy import func, select

    from store.analysis.labels import named_question, question_of_items
    from store.tables.columns import table_of
    from store.tables.imported import Item

    name = options.question or question_of_items(connection)
    asked = named_question(name)
    item = table_of(Item)
    group = item.c.group_id if asked.kind.record.group else item.c.id
    of_kind = select(func.count(), func.count(group.distinct())).where(item.c.kind == asked.kind.name)
    items, queries = connection.execute(of_kind).one()
    if options.per_query is not None and not asked.kind.record.group:
        raise WorkbenchError(
            "Not grouped",
            f"{asked.kind.plural.capitalize()} do not belong to queries: each is drawn by itself.",
            "Leave --per-query out.",
        )
    found: dict[str, Input] = {}
    if queries:
        mean = items / queries
        detail = "" if mean == round(mean) else f"{mean:.2f} on average"
        found["per_query"] = Input(round(mean), "workspace", detail)
    if len(asked.spec.scale.allowed) == 2:
        found |= _of_labels(connection, options, name)
        names = tuple(_DEFAULTS)
    else:
        names = ("accuracy", "per_query", "correlation")
    if not asked.kind.record.group:
        names = tuple(each for each in names if each not in ("per_query", "correlation"))
    for each in names:
        given = getattr(options, each)
        if given is not None:
            found[each] = Input(given, "given")
        elif each not in found:
            value, detail = _DEFAULTS[each]
            found[each] = Input(value, "default", detail)
    if asked.kind.record.group and found["per_query"].value > MOST_PER_QUERY:
        raise WorkbenchError(
            "Too many items",
            f"A query has {found['per_query'].value:,} {asked.kind.plural}; a plan is made for up to "
            f"{MOST_PER_QUERY:,}.",
            "Give those that are judged in the study: --per-query 20",
        )
    return _Pilot(asked, int(queries), int(items), {each: found[each] for each in names})


def _of_labels(connection: Connection, options: Options, question: str) -> dict[str, Input]:
    """Return what the labels of the workspace tell of a question with two answers, if anything.

    Raises:
        WorkbenchError: The review is blind, and the labels would have to be read.
    """
    from store.analysis.labels import named_question, question_labels
    from store.policy.scope import Scope
    from store.queries.runs import shown_by_kind

    missing = [
        option for option in ("alpha", "prevalence", "rater_count") if getattr(options, option) is None
    ]
    if options.blind and {"alpha", "prevalence"} & {*missing}:
        numbers = " and ".join(f"--{name}" for name in missing if name != "rater_count")
        raise WorkbenchError(
            "Blind review",
            f"Without {numbers}, a plan tells of the labels of others, which a blind review keeps out of "
            "sight.",
            "Give numbers, such as --alpha 0.667 --prevalence 0.5. After the review, set "
            "screens.blind = false.",
        )
    if options.blind or not missing:
        return {}
    asked = named_question(question)
    raters, chosen = options.raters, options.run_of(connection)
    if not raters:
        chosen = chosen or shown_by_kind(connection, Scope()).get(asked.kind.name)
    labels = question_labels(connection, question, run=chosen)
    people = [place for place, one in enumerate(labels.raters) if one.kind == "human"]
    compared = labels.places(raters) if raters else people
    return _counts(labels, compared, max(asked.spec.scale.allowed))


def _counts(labels: QuestionLabels, compared: Sequence[int], positive: float) -> dict[str, Input]:
    """Return the number of compared raters, their alpha, and the prevalence of an answer."""
    import numpy

    from store.measures.agreement import alpha_of_patterns

    found = {}
    what = labels.kind.plural if labels.responses is None else "responses"
    if len(compared) > 1:
        names = ", ".join(labels.raters[place].name for place in compared)
        whose = names if len(compared) <= 3 else f"{len(compared)} raters"
        found["rater_count"] = Input(len(compared), "workspace", names if len(compared) <= 3 else "")
        alpha = alpha_of_patterns(labels.table().only(compared).patterns, "nominal")
        where = f"of {whose} over {alpha.units:,} {what}"
        there = "none" if alpha.value is None else f"{alpha.value:.3f}"
        found["alpha"] = _estimated("alpha", alpha.value, where, f"that {where} is {there}")
    groups = [[*compared]]
    for kind in ("agent", "import"):
        groups.append([place for place, one in enumerate(labels.raters) if one.kind == kind])
    for places in filter(None, groups):
        values = numpy.concatenate([labels.raters[place].values for place in places])
        values = values[~numpy.isnan(values)]
        if not len(values):
            continue
        share = float((values == positive).mean())
        whose = labels.raters[places[0]].name if len(places) == 1 else f"{len(places)} raters"
        where = f"{pluralize(len(values), 'label')} of {whose}"
        found["prevalence"] = _estimated("prevalence", share, where, f"{where} are all equal")
        break
    return found


def _estimated(name: str, value: float | None, where: str, why_default: str) -> Input:
    """Return an estimate between 0 and 1; where there is none, the default with the reason for it."""
    if value is not None and 0 < value < 1:
        return Input(value, "workspace", where)
    return Input(_DEFAULTS[name][0], "default", why_default)


def _widths(pilot: _Pilot, half_widths: Sequence[float], seed: int) -> dict[str, IntervalPlan]:
    """Simulate studies of agreement and of accuracy; no agreement where a question has more answers."""
    from store.measures.planning import AccuracyDesign, AgreementDesign, plan_intervals

    value = {name: each.value for name, each in pilot.inputs.items()}
    correlation = value.get("correlation", 0.0)
    designs: dict[str, Design] = {}
    if "alpha" in value:
        designs["alpha"] = AgreementDesign(
            value["alpha"], int(value["rater_count"]), value["prevalence"], pilot.per_query, correlation
        )
    designs["accuracy"] = AccuracyDesign(value["accuracy"], pilot.per_query, correlation)

    here = pilot.queries if pilot.queries > 1 else None
    return plan_intervals(designs, half_widths, here=here, seed=seed)


def _mcnemar(pilot: _Pilot, options: Options) -> _McNemar:
    from store.measures.planning import mcnemar_power, mcnemar_sample_size

    p10, p01 = options.p10 or 0.0, options.p01 or 0.0
    significance = 0.05 if options.significance is None else options.significance
    power = 0.8 if options.power is None else options.power
    items = None
    if options.items is not None:
        items = Input(options.items, "given")
    elif 0 < pilot.queries <= MOST_COMPARED:
        items = Input(pilot.queries, "workspace", "one of each query" if pilot.grouped else "")
    needed, why = None, ""
    try:
        needed = mcnemar_sample_size(power, p10, p01, significance)
    except ValueError as error:
        why = str(error)
    return _McNemar(
        items,
        p10,
        p01,
        significance,
        None if items is None else mcnemar_power(int(items.value), p10, p01, significance),
        power,
        needed,
        why,
    )


def plan_of(found: Plan, options: Options) -> Report:
    """Return the plan: what it rests on, the queries that intervals need, and the test of two methods."""
    pilot, widths, inputs = found.pilot, found.widths, found.pilot.inputs
    kind, several = pilot.kind, pilot.several
    question, scale = pilot.question.spec.name, pilot.question.spec.scale
    there = f"{pilot.items:,} {kind.plural}"
    titles = {
        "per_query": f"{kind.plural} of a {kind.record.group}",
        "rater_count": "raters",
        "correlation": f"correlation in a {kind.record.group}",
        "prevalence": f"prevalence of {scale.word(max(scale.allowed))}",
    }
    caption = (
        []
        if "alpha" in widths
        else [f"Agreement is planned for questions with two answers, and {question} has more."]
    )
    return Report(
        caption=tuple(caption),
        command=("plan", *options.arguments(question=question)),
        tables=filled(
            facts(
                [
                    ("question", question),
                    ("there are", f"{there} of {pilot.queries:,} {several}" if pilot.grouped else there),
                    *((titles.get(key, key), Cell(each.text, each.value)) for key, each in inputs.items()),
                ]
            ),
            _needed(pilot, widths),
            _expected(pilot, widths),
            _test(pilot, found.test),
        ),
    )


def _needed(pilot: _Pilot, widths: Mapping[str, IntervalPlan]) -> Table:
    several, items = pilot.several, pilot.kind.plural

    def cells(queries: int | None) -> list[Cell | str]:
        shown = "none" if queries is None else counted(queries)
        whole = NONE if queries is None else counted(queries * pilot.per_query)
        return [shown, *([whole] if pilot.grouped else [])]

    heads = [
        head
        for name in widths
        for head in (f"{name}: {several}", *([f"{name}: {items}"] if pilot.grouped else []))
    ]
    whys = [
        f"{name}: {why}."
        for name, each in widths.items()
        for why in dict.fromkeys(one.why for one in each.needed if one.why)
    ]
    return Table(
        ("interval", *heads),
        tuple(
            Row((_half_width(row[0].half_width), *(cell for each in row for cell in cells(each.queries))))
            for row in zip(*(each.needed for each in widths.values()), strict=True)
        ),
        f"{several.capitalize()} for a 95 % interval",
        notes=tuple(whys),
    )


def _expected(pilot: _Pilot, widths: Mapping[str, IntervalPlan]) -> Table:
    several, first = pilot.several, next(iter(widths))
    expected = widths[first].expected
    most = max((width for width in expected.values() if width is not None), default=0.0) or 1.0
    return Table(
        (several, "", *widths),
        tuple(
            Row(
                (
                    f"{queries:,}",
                    "here" if queries == pilot.queries else "",
                    *(_half_width(each.expected[queries]) for each in widths.values()),
                ),
                None if width is None else width / most,
            )
            for queries, width in expected.items()
        ),
        f"Expected 95 % interval; bars: {first}",
        names=2,
        ordered=True,
        drawn=f"half-width of {first}",
        scale=(0.0, most),
        notes=(f"Intervals cover the choice of {several}, with the raters fixed.",),
    )


def _test(pilot: _Pilot, test: _McNemar | None) -> Table:
    title = "Two methods (McNemar's exact test)"
    if test is None:
        hint = "Give the shares of items that only one of them has right: --p10 0.11 --p01 0.07"
        return facts([("not planned", hint)], title)
    one, several = pilot.kind.record.group, pilot.several
    needs = f"The test needs one item of each {one}; with more, plan by {several}, as above."
    return facts(
        [
            ("only the first right", number(test.p10)),
            ("only the second right", number(test.p01)),
            ("significance", number(test.significance)),
            ("items", None if test.items is None else Cell(test.items.text, test.items.value)),
            ("power", None if test.power is None else number(test.power, 4)),
            (f"items for power {test.wanted_power:g}", test.why or test.items_needed),
        ],
        title,
        [needs] if pilot.grouped else [],
    )


def _half_width(width: float | None) -> Cell:
    return Cell(NONE) if width is None else Cell(f"± {width:.3f}", width)
