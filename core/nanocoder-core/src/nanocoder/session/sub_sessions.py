"""Child sessions of sub-agents.

A child shares its parent's plugins and settings, so every policy, rule and hook, and the
configuration; its mode is never looser. It has its own transcript, journal, executor and workspace.
"""

import itertools
import threading
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from nanocoder_config import own_folders
from nanocoder_schema import ToolError, evolve, one_line

from nanocoder.call.executor import CLOSE_GRACE_S
from nanocoder.call.state import Approver, Asker, CallState
from nanocoder.call.worker import Ask, Emitted, inquiry
from nanocoder.errors import Cancelled
from nanocoder.hooks.interfaces import Journal
from nanocoder.session.conversation import Conversation
from nanocoder.session.model_view import ToolList
from nanocoder.session.runtime import Runtime, kept_in
from nanocoder.session.workspaces import existing_directory, open_workspace
from nanocoder.tools.outcome import request_data
from nanocoder.tools.session_info import ChildSession, SessionInfo
from nanocoder.tools.tool import ANY_TOOL, ChildOptions
from nanocoder.values import ApprovalAnswer, ApprovalRequest, Event, Mode, Question

MAX_OPEN = 8
"""The most sessions open inside one session at once."""
NAME_CHARS = 120
ENDED = "the session ended"
FULL = f"not run: at most {MAX_OPEN} sub-agents work at once; wait for one to finish"
NESTED = "a sub-agent cannot start sub-agents; do it yourself, or answer with what is left to do"


class SubSessions:
    """The child sessions of one session. Methods may be called from any thread."""

    def __init__(self, runtime: Runtime) -> None:
        """Manage the children of the session of *runtime*."""
        self._runtime = runtime
        self._open: dict[str, Any] = {}
        self._stop_listening: dict[str, Callable[[], object]] = {}
        self._changed = threading.Condition()
        self._numbers = itertools.count(1)
        self._is_closed = False

    def open(
        self, caller: CallState, *, cwd: str | Path | None = None, **options: Unpack[ChildOptions]
    ) -> ChildSession:
        """Open a child session, as `ToolContext.child` does.

        In the foreground it is interrupted with the call that opened it.
        Raises: ToolError (nested_session, too_many_sessions, undeclared_subtool), UsageError.
        """
        if unknown := options.keys() - ChildOptions.__annotations__.keys():
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}")
        if ANY_TOOL not in caller.tool.composed_of:
            problem = "may not open a session: it does not declare that it calls any tool"
            raise ToolError(f"{caller.tool.name} {problem}", error_class="undeclared_subtool")
        if self._runtime.parent is not None:
            raise ToolError(NESTED, error_class="nested_session")
        child, cancel = self._make(caller, cwd, options), caller.cancel
        with self._changed:
            self._open[child.id] = child
        # Meanwhile the parent may have begun to close, or its mode may be stricter.
        if self._is_closed or cancel.is_set():
            child.interrupt(cancel.reason or ENDED)
        self.tighten(self._runtime.info.mode)
        if not options.get("background"):
            self._stop_listening[child.id] = cancel.on_set(lambda: child.interrupt(cancel.reason))
        return child

    def tighten(self, mode: Mode) -> None:
        """Set the mode of every child with a looser one to *mode*."""
        for child in self.children():
            if stricter(child.info.mode, mode) is not child.info.mode:
                child.set_mode(mode)

    def interrupt(self, reason: str) -> None:
        """Stop the runs of all children, also in the background."""
        for child in self.children():
            child.interrupt(reason)

    def close(self) -> None:
        """Interrupt all children, wait a little for their end, and add up their totals."""
        with self._changed:
            self._is_closed = True
        self.interrupt(ENDED)
        with self._changed:
            self._changed.wait_for(lambda: not self._open, CLOSE_GRACE_S)
        self._runtime.settle()

    def _release(self, child_id: str) -> None:
        """Remove a closed child, and add what it did to the parent's report."""
        self._stop_listening.pop(child_id, lambda: None)()
        with self._changed:
            child, report = self._open.pop(child_id), self._runtime.report
            report.include(child.report, in_place=child.info.cwd == self._runtime.info.cwd)
            self._changed.notify_all()

    def children(self) -> list[Any]:
        """Return the open children."""
        with self._changed:
            return [child for child in self._open.values() if child is not None]

    def _make(
        self, caller: CallState, cwd: str | Path | None, options: ChildOptions
    ) -> ChildSession:
        ours, parent = self._runtime, self._runtime.info
        root = parent.cwd if cwd is None else existing_directory(cwd)
        is_same, background = root == parent.cwd, options.get("background", False)
        agent, mode = options.get("agent", ""), options.get("mode")
        info = evolve(
            parent,
            cwd=root,
            mode=stricter(parent.mode, parent.mode if mode is None else Mode(mode)),
            model=options.get("model") or parent.model,
            agent=agent,
            parent=parent.id,
            parent_call=caller.call.id,
            origins=parent.origins if is_same else (parent.cwd, *parent.origins),
            interactive=parent.interactive and not background,
            answered=parent.answered and not background,
            own_folders=parent.own_folders if is_same else own_folders(root=root),
        )
        info, journal = self._start(info)
        title = options.get("title", "")
        approve, ask = (_no_answer, _no_answer) if background else _forwarders(caller, agent, title)
        own: dict[str, Any] = {}
        if not is_same:  # in the same directory both share the backups and the changes to undo
            opener = partial(open_workspace, root, journal, ours.config, ours=True)
            own = {"workspace_opener": opener, "remembered_consent": {}}
        child: Any = evolve(  # of the parent's class, with all other fields
            ours,
            info=info,
            tool_list=ToolList(ours.plugins, has=options.get("tools")),
            conversation=Conversation(),
            journal=journal,
            approve=approve,
            ask=ask,
            max_turns=options.get("max_turns") or ours.max_turns,
            max_calls=options.get("max_calls", 0),
            max_tokens=options.get("max_tokens", 0),
            parent=ours,
            on_close=partial(self._release, info.id),
            **own,
        )
        return child  # type: ignore[no-any-return]

    def _start(self, info: SessionInfo) -> tuple[SessionInfo, Journal | None]:
        """Reserve a slot for a child; return its info with an id, and its journal."""
        with self._changed:
            if self._is_closed:
                raise Cancelled(ENDED)
            if len(self._open) >= MAX_OPEN:
                raise ToolError(FULL, error_class="too_many_sessions")
            store, place = self._runtime.sessions, (info.cwd, info.model, str(info.mode))
            ids = {"parent": info.parent, "parent_call": info.parent_call, "agent": info.agent}
            ours = self._runtime.journal
            journal = store.start(*place, origin=ids, parent=ours) if store is not None else None
            name = f"{info.parent}.{next(self._numbers)}" if journal is None else journal.id
            # Reserved before the child is created: two threads must not both get the last slot.
            self._open[name] = None
        if journal is None:
            return evolve(info, id=name, folder=None, outputs=None), None
        return kept_in(journal, info), journal


def stricter(mode: Mode, other: Mode) -> Mode:
    """Return the stricter of two modes."""
    return min(mode, other, key=tuple(Mode).index)


def _no_answer(_: ApprovalRequest | Question) -> None:
    """Give no answer: a sub-agent in the background has no person to ask."""


def _forwarders(caller: CallState, agent: str, title: str) -> tuple[Approver, Asker]:
    """Return functions that ask the parent's person, through the call that waits for the child.

    Each request names the sub-agent that asks: several of one name may work at once.
    """
    names = [name for name in (agent, f"({title})" if title else "") if name]
    # The parent's model wrote the title: no line of it may look like one of the question.
    prefix = f"{one_line(' '.join(['sub-agent', *names]), NAME_CHARS)}: "

    def forward(steps: Generator[Emitted, None, Any]) -> Any:
        try:
            return caller.worker.run_steps(steps)
        except Cancelled:
            return None

    def approve(request: ApprovalRequest) -> Any:
        call = evolve(request.call, parent_id=caller.call.id)
        request = evolve(request, call=call, reason=f"{prefix}{request.reason}")
        return forward(_forward_approval(request))

    def ask(question: Question) -> Any:
        text = f"{prefix}{question.text}"
        return forward(inquiry(evolve(question, text=text, call_id=caller.call.id)))

    return approve, ask


def _forward_approval(request: ApprovalRequest) -> Generator[Emitted, None, ApprovalAnswer | None]:
    """Forward a sub-agent's approval request as an event of the call that waits for it."""
    waiting = request.call.parent_id
    item = Ask(request, Event("call.approval_requested", request_data(request), waiting))
    yield item
    # A text is the reason why there is no answer, which the child session reports itself.
    answer = item.answer if isinstance(item.answer, ApprovalAnswer) else None
    word = None if answer is None else "approved" if answer.approved else "refused"
    yield Event("call.answered", {"answer": word}, waiting)
    return answer
