"""Collects issues of GitHub that become questions about repositories, as a work (CoReQA, III.A)."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from agents.collection.rules import AGAIN, GONE, NOT_UNDERSTOOD, OPEN, PULL_REQUEST, IssueRules, has_word
from agents.github.markdown import code_blocks
from agents.github.objects import read_repositories
from agents.jobs.work import WorkPart, WorkSettings, aside, undivided
from agents.jobs.work_progress import ReportWork, WorkProgress
from store.errors import ImportFailed, WorkbenchError
from store.formats.issues import Issues
from store.formats.protocol import Entity, FileContext
from store.formats.questions import write_question
from store.formats.threads import Threads, is_pull_request
from store.formats.values import Refused
from store.formatting import pluralize
from store.ingest.importing import import_records
from store.ingest.plain_files import plain_files
from store.kinds.answer import COLLECTION
from store.tables.columns import table_of
from store.tables.imported import Item, RepositoryQuestion

if TYPE_CHECKING:
    from agents.github.client import GitHub
    from agents.jobs.control import Control

MOST_SOURCES = 1000
"""Repositories and files of one collection, which keeps what came of each."""
MOST_COMMENTS = 10_000
"""Comments of one issue; GitHub takes 2,500."""

NOT_THERE = "not readable on GitHub"
NO_ISSUES = "without issues"

_REPOSITORY = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}")
_HEAD = 16_384
_SECOND = timedelta(seconds=1)
_OF_ISSUE = ("number", "title", "body", "html_url", "user", "created_at", "closed_at", "state_reason")
_OF_COMMENT = ("id", "user", "created_at", "body", "reactions")
_LANGUAGES = {"c#": "csharp", "c++": "cpp"}


@dataclass(frozen=True, slots=True)
class IssueRequest:
    """Which issues are collected.

    Attributes:
        sources: OWNER/REPO on GitHub, or files of issues and comments, by their absolute paths.
        rules: The conditions of issues.
    """

    sources: tuple[str, ...]
    rules: IssueRules = field(default_factory=IssueRules)

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> IssueRequest:
        """Return the request of a description, which is its fields as JSON."""
        return cls(tuple(description["sources"]), IssueRules(**description["rules"]))


@dataclass(slots=True)
class OfSource:
    """The result for a repository, or for all files.

    Attributes:
        name: Its name.
        why: Why nothing is of it; empty where something can be.
        said: What was said of that.
        issues: Issues that were looked at, pull requests not among them.
        labelled: Issues with a label; `named`, those with a label that asks for a change.
        code: Issues with code in their description.
        reactions: Whether there were any reactions.
        left_out: How many issues were left out, by why; pull requests as well.
        questions: The issues that became questions.
        added: Those that are new.
        known: Those that were there.
    """

    name: str
    why: str = ""
    said: str = ""
    issues: int = 0
    labelled: int = 0
    named: int = 0
    code: int = 0
    reactions: bool = False
    left_out: dict[str, int] = field(default_factory=dict)
    questions: int = 0
    added: int = 0
    known: int = 0

    def leave_out(self, why: str) -> None:
        """Count what is left out."""
        self.left_out[why] = self.left_out.get(why, 0) + 1

    def look_at(self, labels: Sequence[str], body: str) -> None:
        """Count an issue."""
        self.issues += 1
        self.labelled += bool(labels)
        self.named += has_word(labels)
        self.code += bool(code_blocks(body))


@dataclass(slots=True)
class Collected:
    """The result of a collection so far.

    Attributes:
        rules: The conditions.
        reasons: All reasons to leave an issue out, in the order in which they are looked at.
        sources: The results of those that are done, in order.
    """

    rules: Mapping[str, Any]
    reasons: Sequence[str]
    sources: dict[str, OfSource] = field(default_factory=dict)

    def total(self, name: str) -> int:
        """Return a sum over the sources."""
        return sum(getattr(one, name) for one in self.sources.values())

    def left_out(self) -> dict[str, int]:
        """Return how many issues were left out, by why, in the order of the reasons."""
        found = Counter[str]()
        for one in self.sources.values():
            found.update(one.left_out)
        return {why: found[why] for why in self.reasons if why in found}

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        names = ("issues", "labelled", "named", "code", "questions", "added", "known")
        return {
            **asdict(self),
            **{name: self.total(name) for name in names},
            "left_out": self.left_out(),
        }

    def sentences(self) -> list[str]:
        """Return what was found, and what was not, as lines."""
        known = f", {self.total('known'):,} already there" if self.total("known") else ""
        questions, issues = self.total("questions"), self.total("issues")
        pulls = self.left_out().get(PULL_REQUEST, 0)
        beside = f" and {pluralize(pulls, 'pull request')}" if pulls else ""
        lines = [
            f"{pluralize(questions, 'question')} of {pluralize(issues, 'issue')}{beside}; "
            f"{self.total('added'):,} added{known}.",
            *(f"  left out: {count:,}, {why}" for why, count in self.left_out().items()),
        ]
        silent = [one.name for one in self.sources.values() if one.issues and not one.reactions]
        lines += [f"  {name} has no reactions: no comment in it is known to be positive" for name in silent]
        without = [one for one in self.sources.values() if one.why]
        return [*lines, *(f"  left out: {one.name}, {one.why}. {one.said}".rstrip() for one in without)]


@dataclass(frozen=True, slots=True)
class IssueCollection:
    """The collection of issues (`agents.jobs.work.Work`); its result is a `Collected`.

    Begun again, it goes on with the repositories that are not done; of the others GitHub says what changed.
    """

    request: IssueRequest
    settings: WorkSettings

    @property
    def kind(self) -> str:
        """The name of its part."""
        return COLLECTION

    @property
    def name(self) -> str:
        """Its name in lists."""
        sources = self.request.sources
        return sources[0] if len(sources) == 1 else pluralize(len(sources), "source")

    def description(self) -> Mapping[str, Any]:
        """Return the request."""
        return asdict(self.request)

    async def run(self, control: Control) -> str:
        """Collect, source by source; the issues of one are added together.

        Raises:
            Halted: It was stopped; what is of the sources that are done is kept.
            WorkbenchError: GitHub cannot be reached, or a file not be read.
        """
        request = self.request
        if len(request.sources) > MOST_SOURCES:
            raise WorkbenchError(
                "Too many sources",
                f"{len(request.sources):,} are more than {MOST_SOURCES:,}.",
                "Collect them in parts, into one workspace.",
            )
        found = Collected(asdict(request.rules), request.rules.reasons)
        if control.kept:
            found.sources = {name: OfSource(**one) for name, one in control.kept["sources"].items()}
        control.result = found
        work = _Collecting(control, request.rules, self.settings.concurrency)
        files = [source for source in request.sources if Path(source).is_absolute()]
        if files and files[0] not in found.sources:
            # Together: the comments of one may be of issues of another.
            found.sources[files[0]] = await work.of_files(files)
            control.keep(asdict(found))
        if todo := [one for one in request.sources if one not in files and one not in found.sources]:
            from agents.github.client import github

            async with github(self.settings.github, partial(control.log, "info")) as api:
                for source in todo:
                    await control.gate.passing()
                    found.sources[source] = await work.of_repository(api, source)
                    control.keep(asdict(found))
        known = f", {found.total('known'):,} already there" if found.total("known") else ""
        return f"{pluralize(found.total('added'), 'question')} added{known}"


def given_sources(names: Sequence[str]) -> tuple[str, ...]:
    """Return repositories as they are named, and files by their absolute paths.

    A file of GitHub's repository objects stands for these repositories.
    """
    found: dict[str, None] = {}
    for name in names:
        if is_repository(name):
            found[name] = None
            continue
        path = Path(name).expanduser().absolute()
        listed = _listed(path)
        found.update(dict.fromkeys(listed or [str(path)]))
    return tuple(found)


def _listed(path: Path) -> list[str]:
    """Return the repositories of a file of repository objects; none where it is another file."""
    try:
        with path.open("rb") as file:
            # Issues have no such field, and what can be packed has no such bytes.
            if b'"full_name"' not in file.read(_HEAD) or path.suffix == ".gz":
                return []
        names = [str(one["full_name"]) for one in read_repositories(str(path))]
    except (OSError, ImportFailed):
        return []
    return [name for name in names if _REPOSITORY.fullmatch(name)]


def is_repository(source: str) -> bool:
    """Return whether a source is OWNER/REPO on GitHub, and no file."""
    return bool(_REPOSITORY.fullmatch(source)) and not Path(source).exists()


class _Drawn:
    """The issues that are kept: of each repository those with the lowest places in the draw.

    Args:
        rules: How many of a repository, and the seed.
        found: Counts those that are not drawn.
    """

    def __init__(self, rules: IssueRules, found: OfSource) -> None:
        self._rules, self._found = rules, found
        self._kept = defaultdict[str, list[tuple[bytes, str, Any]]](list)

    def add(self, repository: str, number: int | None, issue: Any) -> None:
        """Keep an issue, unless there are enough with lower places."""
        name = f"{repository}#{number}"
        kept = self._kept[repository.lower()]
        kept.append((self._rules.place(name), name, issue))
        if len(kept) > self._rules.most:
            kept.remove(max(kept, key=lambda one: one[:2]))
            self._found.leave_out(self._rules.too_many)

    def issues(self) -> list[Any]:
        """Return those that are kept, by repository and number."""
        return [
            issue
            for _, kept in sorted(self._kept.items())
            for *_, issue in sorted(kept, key=lambda one: (len(one[1]), one[1]))
        ]


@dataclass(frozen=True, slots=True)
class _Collecting:
    """The collection, as it works."""

    control: Control
    rules: IssueRules
    concurrency: int

    # -- files -------------------------------------------------------------------------------------------

    async def of_files(self, paths: Sequence[str]) -> OfSource:
        """Collect the issues of files.

        Raises:
            ImportFailed: One cannot be read.
        """
        more = f" and {pluralize(len(paths) - 1, 'more file')}" if len(paths) > 1 else ""
        found = OfSource(f"{Path(paths[0]).name}{more}")
        entities = await aside(self.control, partial(self._of_files, paths, found))
        await undivided(partial(self._add, found, entities))
        return found

    def _of_files(self, paths: Sequence[str], found: OfSource, report: ReportWork) -> list[Entity]:
        drawn = _Drawn(self.rules, found)
        passed: list[tuple[Entity, Mapping[str, Any]]] = []
        seen: set[tuple[str, object]] = set()
        with plain_files(paths, "issues") as files:
            for at, (_, raw, made) in enumerate(files, start=1):
                report(WorkProgress(f"reading {found.name}", at, 0))
                record = raw.value or {}
                found.reactions |= _has_reactions(record)
                if "title" in record and is_pull_request(record):
                    found.leave_out(PULL_REQUEST)
                for entity in made:
                    fields = entity.fields
                    body = fields["issue_body"] or ""
                    found.look_at(fields["labels"], body)
                    key = (str(fields["repository"]).lower(), fields["issue_number"])
                    if key in seen:
                        found.leave_out(AGAIN)
                        continue
                    seen.add(key)
                    if why := _open(record) or self.rules.by_description(fields["labels"], body):
                        found.leave_out(why)
                    else:
                        passed.append((entity, fields))
        for entity, fields in passed:
            repository, number = fields["repository"] or "", fields["issue_number"]
            why = self.rules.by_comments(repository, number, fields["comments"], reactions=found.reactions)
            if why:
                found.leave_out(why)
            else:
                drawn.add(repository, number, entity)
        return drawn.issues()

    # -- GitHub ------------------------------------------------------------------------------------------

    async def of_repository(self, api: GitHub, name: str) -> OfSource:
        """Collect the closed issues of a repository.

        Raises:
            GitHubFailed: GitHub does not answer; of a repository that is not there, or has no issues, it is
                only said.
        """
        from agents.github.client import GitHubFailed

        found = OfSource(name)
        try:
            about = await api.object(f"repos/{name}")
            closed = await api.count(f"repos/{name}/issues?state=closed")
        except GitHubFailed as error:
            if not error.is_of_one:
                raise
            found.why, found.said = NO_ISSUES if error.status == 410 else NOT_THERE, error.message
            return found
        language = str(about.get("language") or "").lower()
        language = _LANGUAGES.get(language, language)
        threads = Threads()
        drawn = _Drawn(self.rules, found)
        at_once = asyncio.Semaphore(self.concurrency)
        seen = 0
        async for page in closed_issues(api, name):
            self.control.note(WorkProgress(f"collecting {name}", seen, closed or 0))
            await self.control.gate.passing()
            seen += len(page)
            chosen = [issue for issue in page if self._may_be(issue, threads, found)]
            comments = await asyncio.gather(
                *(self._comments(api, name, issue, at_once, threads) for issue in chosen)
            )
            for issue, said in zip(chosen, comments, strict=True):
                if why := self._why_not(name, issue, said, found):
                    found.leave_out(why)
                    continue
                record = {key: issue[key] for key in _OF_ISSUE if issue.get(key) is not None}
                record |= {"labels": _label_names(issue), "language": language or None}
                record["comments"] = [{key: one.get(key) for key in _OF_COMMENT} for one in said or ()]
                drawn.add(name, issue.get("number"), record)
        self.control.note(WorkProgress(f"collecting {name}", seen, seen))
        entities = await aside(self.control, partial(_without_users, found, drawn.issues(), threads))
        await undivided(partial(self._add, found, entities))
        return found

    def _may_be(self, issue: Mapping[str, Any], threads: Threads, found: OfSource) -> bool:
        """Return whether an issue may become a question, before its comments are known."""
        threads.gather(issue)
        if is_pull_request(issue):
            found.leave_out(PULL_REQUEST)
            return False
        labels, body = _label_names(issue), str(issue.get("body") or "")
        found.look_at(labels, body)
        comments = issue.get("comments")
        why = _open(issue) or self.rules.by_description(labels, body)
        why = why or self.rules.by_count(comments if isinstance(comments, int) else self.rules.positive)
        if why:
            found.leave_out(why)
        return not why

    async def _comments(
        self, api: GitHub, name: str, issue: Mapping[str, Any], at_once: asyncio.Semaphore, threads: Threads
    ) -> list[dict[str, Any]] | None:
        """Return the comments of an issue; None where it is not there any more."""
        from agents.github.client import PER_PAGE, GitHubFailed

        comments: dict[Any, dict[str, Any]] = {}
        following: str | None = f"repos/{name}/issues/{issue.get('number')}/comments?per_page={PER_PAGE}"
        async with at_once:
            while following is not None and len(comments) < MOST_COMMENTS:
                await self.control.gate.passing()
                try:
                    page, following = await api.page(following)
                except GitHubFailed as error:
                    if not error.is_of_one:
                        raise
                    return None
                for comment in page:
                    threads.gather(comment)
                    comments.setdefault(comment.get("id"), comment)
        return list(comments.values())

    def _why_not(
        self,
        name: str,
        issue: Mapping[str, Any],
        comments: Sequence[Mapping[str, Any]] | None,
        found: OfSource,
    ) -> str:
        """Return why an issue is left out by its comments; empty where it is not."""
        if comments is None:
            return GONE
        found.reactions |= any(map(_has_reactions, comments))
        return self.rules.by_comments(name, issue.get("number"), comments, reactions=True)

    # -- both --------------------------------------------------------------------------------------------

    def _add(self, found: OfSource, entities: Sequence[Entity]) -> None:
        """Add issues as questions to the workspace; those that are there stay as they are."""
        item, question = table_of(Item), table_of(RepositoryQuestion)
        asked = select(item.c.external_id).join(question, question.c.item_id == item.c.id)
        with self.control.workspace.reading() as connection:
            there = set(connection.execute(asked).scalars())
        new = [entity for entity in entities if entity.fields["external_id"] not in there]
        found.questions, found.known = len(entities), len(entities) - len(new)
        if new:
            records = [write_question(entity, []) for entity in new]
            report = import_records(
                self.control.workspace, records, format="questions", source=f"issues of {found.name}"
            )
            found.added = report.items_added


async def closed_issues(api: GitHub, name: str) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the closed issues of a repository, page by page, those that changed last at the end.

    Each page is requested by the time of the last change in the one before it, so that no issue is missed
    when others change meanwhile, and lists may end early. Where a page holds but one second, the address
    of the next one is followed.

    Raises:
        GitHubFailed: GitHub does not answer.
    """
    from agents.github.client import PER_PAGE

    first = f"repos/{name}/issues?state=closed&sort=updated&direction=asc&per_page={PER_PAGE}"
    since: datetime | None = None
    address = first
    seen: set[Any] = set()
    while True:
        page, following = await api.page(address)
        new = [issue for issue in page if issue.get("number") not in seen]
        seen.update(issue.get("number") for issue in new)
        yield new
        if following is None:
            return
        # It is not said whether what changed in that very second is among what changed since.
        last = _moment(page[-1].get("updated_at")) if page else None
        later = None if last is None else last - _SECOND
        if later is not None and (since is None or later > since):
            since = later
            address = f"{first}&since={since.strftime('%Y-%m-%dT%H:%M:%SZ')}"
        else:
            address = following


def _without_users(
    found: OfSource, issues: Sequence[Mapping[str, Any]], threads: Threads, report: ReportWork
) -> list[Entity]:
    """Return issues as questions without user names."""
    converter = Issues(FileContext(stem=found.name, shared={"issue threads": threads}))
    for issue in issues:
        converter.scan(issue)
    entities = []
    for number, issue in enumerate(issues, start=1):
        report(WorkProgress(f"replacing user names of {found.name}", number, len(issues)))
        try:
            entities += converter.convert(issue, number)
        except Refused:
            found.leave_out(NOT_UNDERSTOOD)
    return entities


def _label_names(issue: Mapping[str, Any]) -> list[str]:
    labels = issue.get("labels")
    found = [one.get("name") if isinstance(one, dict) else one for one in labels or ()]
    return [str(one) for one in found if one]


def _has_reactions(record: Mapping[str, Any]) -> bool:
    """Return whether an issue or a comment, or a comment in it, says something of its reactions."""
    comments = record.get("comments")
    inner = comments if isinstance(comments, list) else ()
    return any(isinstance(one, dict) and one.get("reactions") is not None for one in (record, *inner))


def _open(record: Mapping[str, Any]) -> str:
    """Return why an open issue is left out; empty for a closed one, and where nothing is known of that."""
    if "state" in record:
        return OPEN if record["state"] != "closed" else ""
    return OPEN if "closed_at" in record and not record["closed_at"] else ""


def _moment(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _open_collection(description: Mapping[str, Any], settings: WorkSettings) -> IssueCollection:
    return IssueCollection(IssueRequest.of(description), settings)


PART = WorkPart(
    COLLECTION,
    "collection of issues",
    "Collects issues of GitHub that become questions about repositories.",
    _open_collection,
    asks=True,
)
