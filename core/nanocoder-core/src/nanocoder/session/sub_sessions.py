"""Sessions inside a session: what a sub-agent shares with its parent, and what it has alone.

It shares the plugins with their settings, so every policy, rule and hook, and the configuration;
its mode is never looser. A transcript, a journal, an executor and a workspace are its own.
"""

import itertools
import threading
from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from attrs import evolve

from nanocoder.config.places import own_folders
from nanocoder.errors import Cancelled, ToolError
from nanocoder.path.approval import Approver, Asker, request_data
from nanocoder.path.in_flight import InFlight
from nanocoder.path.path import CLOSE_GRACE_S
from nanocoder.path.worker import Ask, Emitted, inquiry
from nanocoder.plugins import Plugins
from nanocoder.session.build import Ground
from nanocoder.session.directory import existing_directory
from nanocoder.session.journal import Journal
from nanocoder.session.report import Report
from nanocoder.session.store import SessionStore
from nanocoder.session.workspaces import open_workspace
from nanocoder.tools.tool import ANY_TOOL, SessionInfo, Tool
from nanocoder.values import ApprovalAnswer, ApprovalRequest, Event, Mode, Question, Usage

MAX_OPEN = 8
"""How many sessions may be open inside one session at once."""
MODES = tuple(Mode)
ENDED = "the session ended"

Has = Callable[[Tool[..., Any]], bool]


class Inner(Protocol):
    """What is asked of a session inside another."""

    info: SessionInfo

    def interrupt(self, reason: str = ...) -> None:
        """Stop its run."""

    def set_mode(self, mode: Mode) -> None:
        """Change its mode."""


class Outer(Protocol):
    """What is asked of the session that others are inside of."""

    info: SessionInfo

    def is_over(self, more: Usage) -> bool:
        """Tell whether its budget is used up with that much *more*."""


S = TypeVar("S", bound=Inner)


class FewerTools(Plugins):
    """The plugins of a session as one inside it sees them: with some of their tools.

    One state, two views: a plugin that is set aside, or settings that are read anew, are so for
    both.
    """

    __slots__ = ("_has",)

    def __init__(self, whole: Plugins, has: Has) -> None:
        """Show those tools of *whole* that *has* says yes to."""
        self.__dict__ = whole.__dict__
        self._has = has

    def tools(self) -> dict[str, Tool[..., Any]]:
        """Return the tools that are left, by name."""
        return {name: one for name, one in super().tools().items() if self._has(one)}


class Children:
    """The sessions inside one session. Methods may be called from any thread."""

    def __init__(self, ground: Ground, outer: Outer) -> None:
        """Keep those inside the session *outer*, which stands on *ground*."""
        self._ground = ground
        self._outer = outer
        self._open: dict[str, Inner | None] = {}
        self._forget: dict[str, Callable[[], None]] = {}
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._usage = Usage()
        self._files: list[str] = []
        self._is_closed = False

    def open(
        self,
        make: Callable[[Ground], S],
        caller: InFlight,
        *,
        background: bool = False,
        **options: Any,
    ) -> S:
        """Return the session that *make* makes; *options* are those of `ToolContext.child`.

        In the foreground it is interrupted with the call that opened it.
        Raises: ToolError (nested_session, too_many_sessions, undeclared_subtool), UsageError.
        """
        self._refuse(caller.tool)
        ground = self._made(caller, background=background, **options)
        inner_id, cancel = ground.info.id, caller.cancel
        try:
            inner = make(ground)
        except BaseException:
            ground.close()
            raise
        with self._changed:
            self._open[inner_id] = inner
        if self._is_closed:
            inner.interrupt(ENDED)
        if not background:
            self._forget[inner_id] = cancel.on_set(lambda: inner.interrupt(cancel.reason))
        return inner

    def left(self, inner_id: str) -> None:
        """Let a session go that was closed."""
        self._forget.pop(inner_id, lambda: None)()
        with self._changed:
            self._open.pop(inner_id, None)
            self._changed.notify_all()

    def spend(self, usage: Usage) -> None:
        """Take note of what a session inside has used."""
        with self._changed:
            self._usage += usage

    def wrote(self, info: SessionInfo, paths: Iterable[str]) -> None:
        """Take note of what a session inside has changed among this one's files."""
        if info.cwd == self._ground.info.cwd:
            with self._changed:
                self._files += [path for path in paths if path not in self._files]

    def is_over(self) -> bool:
        """Tell whether this session's own budget is used up."""
        return self._outer.is_over(self._usage)

    def settle(self, report: Report) -> None:
        """Add to *report* what the sessions inside have used and changed since the last time."""
        with self._changed:
            report.usage += self._usage
            self._usage = Usage()
            files, self._files = self._files, []
        report.note_files(files)

    def tighten(self, mode: Mode) -> None:
        """Let none be in a looser mode than *mode*."""
        for inner in self._inners():
            if stricter(inner.info.mode, mode) is not inner.info.mode:
                inner.set_mode(mode)

    def close(self, report: Report) -> None:
        """Interrupt all, wait a little until they have closed, and settle."""
        with self._changed:
            self._is_closed = True
        for inner in self._inners():
            inner.interrupt(ENDED)
        with self._changed:
            self._changed.wait_for(lambda: not self._open, CLOSE_GRACE_S)
        self.settle(report)

    def _inners(self) -> list[Inner]:
        with self._changed:
            return [inner for inner in self._open.values() if inner is not None]

    def _refuse(self, tool: Tool[..., Any]) -> None:
        if ANY_TOOL not in tool.composed_of:
            raise ToolError(
                f"{tool.name} may not open a session: it does not declare that it calls any tool",
                error_class="undeclared_subtool",
            )
        if self._ground.parent is not None:
            raise ToolError(
                "a sub-agent cannot start sub-agents; do it yourself, or say in your answer"
                " what is left to do",
                error_class="nested_session",
            )

    def _made(  # noqa: PLR0913 - these are the options of ToolContext.child, by name
        self,
        caller: InFlight,
        *,
        cwd: str | Path | None,
        model: str,
        mode: Mode | str | None,
        agent: str,
        title: str,
        background: bool,
        tools: Has | None,
        max_turns: int,
        max_calls: int,
        max_tokens: int,
    ) -> Ground:
        ours, outer = self._ground, self._outer.info
        root = outer.cwd if cwd is None else existing_directory(cwd)
        is_same = root == outer.cwd
        info = evolve(
            outer,
            cwd=root,
            mode=stricter(outer.mode, outer.mode if mode is None else Mode(mode)),
            model=model or outer.model,
            agent=agent,
            parent=outer.id,
            origin=outer.origin if is_same else outer.cwd,
            interactive=outer.interactive and not background,
            own_folders=outer.own_folders if is_same else own_folders(root=root),
        )
        info, journal = self._begun(info, caller)
        approve, ask = (_nobody, _nobody) if background else _relayed(caller, agent, title)
        return Ground(
            plugins=ours.plugins if tools is None else FewerTools(ours.plugins, tools),
            config=ours.config,
            info=info,
            # The same files: one row of backups, and one list of changes to take back.
            open=ours.open
            if is_same
            else partial(open_workspace, root, journal, ours.config, ours=True),
            journal=journal,
            approve=approve,
            ask=ask,
            max_turns=max_turns or ours.max_turns,
            max_calls=max_calls,
            max_tokens=max_tokens,
            admission=ours.admission,
            parent=self,
            kept=ours.kept if is_same else set(),
            telling=ours.telling,
        )

    def _begun(self, info: SessionInfo, caller: InFlight) -> tuple[SessionInfo, Journal | None]:
        """Give a session its place, its id and, among the parent's own files, its journal."""
        with self._changed:
            if self._is_closed:
                raise Cancelled(ENDED)
            if len(self._open) >= MAX_OPEN:
                raise _too_many()
            journal = self._journal(info, caller)
            name = f"{info.parent}.{next(self._numbers)}" if journal is None else journal.id
            self._open[name] = None
        if journal is None:
            return evolve(info, id=name, folder=None, outputs=None), None
        return evolve(info, id=name, folder=journal.artifacts, outputs=journal.outputs), journal

    def _journal(self, info: SessionInfo, caller: InFlight) -> Journal | None:
        ours = self._ground.journal
        if ours is None or ours.artifacts is None:
            return None
        about = {"parent": info.parent, "parent_call": caller.call.id, "agent": info.agent}
        store = SessionStore(ours.artifacts)
        return store.create(info.cwd, info.model, str(info.mode), about=about)[1]


def stricter(one: Mode, other: Mode) -> Mode:
    """Return the mode of the two in which less happens without asking."""
    return min(one, other, key=MODES.index)


def _too_many() -> ToolError:
    return ToolError(
        f"not run: at most {MAX_OPEN} sub-agents work at once; wait for one to finish",
        error_class="too_many_sessions",
    )


def _nobody(_: ApprovalRequest | Question) -> None:
    """Answer for a sub-agent in the background: there is nobody to ask."""


def _relayed(caller: InFlight, agent: str, title: str) -> tuple[Approver, Asker]:
    """Return what puts requests to the parent's person, through the call that waits.

    Each says which sub-agent asks: several of one name may work at once.
    """
    names = [name for name in (agent, f"({title})" if title else "") if name]
    who = f"{' '.join(['sub-agent', *names])}: "

    def put(steps: Generator[Emitted, None, Any]) -> Any:
        try:
            return caller.worker.run_steps(steps)
        except Cancelled:
            return None

    def approve(request: ApprovalRequest) -> Any:
        call = evolve(request.call, parent_id=caller.call.id)
        return put(_approval(evolve(request, call=call, reason=f"{who}{request.reason}")))

    def ask(question: Question) -> Any:
        text = f"{who}{question.text}"
        return put(inquiry(evolve(question, text=text, call_id=caller.call.id)))

    return approve, ask


def _approval(request: ApprovalRequest) -> Generator[Emitted, None, ApprovalAnswer | None]:
    """Put a request of the session inside; whoever listens here hears it of the call that waits."""
    waiting = request.call.parent_id
    item = Ask(request, Event("call.approval_requested", request_data(request), waiting))
    yield item
    # A text says why there is none; the session inside says so by itself.
    answer = item.answer if isinstance(item.answer, ApprovalAnswer) else None
    said = None if answer is None else "approved" if answer.approved else "refused"
    yield Event("call.answered", {"answer": said}, waiting)
    return answer
