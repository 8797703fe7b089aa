"""The one path of a call; there is no other way to a handler.

`prepare` finds the tool, checks the arguments, and gets the verdict and the approval; `perform`
waits for a slot and runs the handler; `finish` returns the one result. They are generators of
events: the consumer handles each event before the next step, so the journal has a call before it
runs.
"""

import contextlib
import itertools
import os
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from nanocoder_schema import (
    BadArguments,
    NanocoderError,
    ToolError,
    copy_arguments,
    evolve,
    normalise,
    problem_of,
)

from nanocoder.call.approval import Approvals
from nanocoder.call.state import CallSession, CallState
from nanocoder.call.worker import Ask, Steps, Worker, inquiry
from nanocoder.cancel import Cancel
from nanocoder.errors import Cancelled, PluginError
from nanocoder.hooks import dispatch
from nanocoder.tools.outcome import accept, call_data, limit_output, result_of_error, with_notes
from nanocoder.tools.queue import Slot
from nanocoder.tools.session_info import ChildSession
from nanocoder.tools.tool import MAX_DEPTH, Tool, ToolContext
from nanocoder.values import Event, ToolCall, ToolResult, Understood

CLOSE_GRACE_S = 6.0
"""Seconds that the end of a session waits for abandoned calls.

Killing a process takes up to 5 s.
"""
MAX_GROUP = 31
"""The most later calls of a turn that are put to a person together with the first."""
MIN_TURN_THREADS = 32
"""The calls of one turn that get a thread at once; more if the limit of calls is higher."""


class Executor:
    """Run the calls of one session; *child* opens a session inside it for a call."""

    def __init__(
        self, session: CallSession, approvals: Approvals, child: Callable[..., ChildSession]
    ) -> None:
        self._session = session
        self._approvals = approvals
        self._child = child
        self._left_behind: list[threading.Thread] = []

    def turn(
        self, calls: Sequence[ToolCall], cancel: Cancel
    ) -> Generator[Event, None, list[ToolResult]]:
        """Run the calls of one turn and return a result for each, in their order.

        Every failure is a result, too. Reading calls run in parallel; one call with another effect
        makes the turn sequential. The person is asked here, on the caller's thread.
        """
        # A cancel of its own: an early end of the turn must not interrupt the session.
        stop = Cancel(cancel)
        states = [CallState(call, Cancel(stop)) for call in calls]
        for place, state in enumerate(states, 1):
            state.foresee = partial(self._later_trials, states[place : place + MAX_GROUP])
        # In reverse order: steps end their handlers before a call restores its files.
        with contextlib.ExitStack() as at_end:
            at_end.callback(stop.close)
            for state in states:
                at_end.callback(state.close)
            for steps in self._order(states, stop):
                at_end.callback(steps.close)
                while item := next(steps, None):
                    # The journal gets the question before a person sees it.
                    yield item.event if isinstance(item, Ask) else item
                    # After an interrupt nobody is asked.
                    if isinstance(item, Ask) and not cancel.is_set():
                        item.answer = self._approvals.ask(item.request, cancel)
        return [state.outcome for state in states]

    def close(self) -> None:
        """Wait a little for calls that did not stop when cancelled."""
        deadline = time.monotonic() + CLOSE_GRACE_S
        for thread in self._left_behind:
            thread.join(max(0.0, deadline - time.monotonic()))

    # The order of calls

    def _order(self, states: Sequence[CallState], stop: Cancel) -> Iterator[Steps]:
        if len(states) > 1 and all(self._only_reads(state.call) for state in states):
            # All questions come first, on this thread: none interrupts a call that runs.
            yield from map(self.prepare, states)
            yield self._perform_in_parallel(states, stop)
            return
        for state in states:
            yield from self._steps(state)

    def _steps(self, state: CallState) -> tuple[Steps, ...]:
        return self.prepare(state), self.perform(state), self.finish(state)

    def _later_trials(self, later: Sequence[CallState]) -> Iterator[tuple[CallState, CallState]]:
        """Yield the later calls of a turn, each with a trial to be judged."""
        for state in later:
            trial = CallState(state.call, state.cancel)
            with contextlib.suppress(NanocoderError):
                list(self._understand(trial))
                yield state, trial

    def _only_reads(self, call: ToolCall) -> bool:
        try:
            tool, arguments, _ = self._read_call(call)
        except NanocoderError:  # a failing call changes nothing
            return True
        return tool.certainly_reads(arguments)

    def _perform_in_parallel(self, states: Sequence[CallState], stop: Cancel) -> Steps:
        """Perform prepared calls in parallel; each takes a slot of its own."""
        turn = Worker(stop)
        waiting = iter(states)  # `next` is atomic: no two threads get the same one

        def perform_next() -> None:
            for state in waiting:
                with contextlib.suppress(Cancelled):  # the consumer of the turn has gone
                    turn.run_steps(self.perform(state))
                    turn.run_steps(self.finish(state))

        def work() -> None:
            # A composed call waits for its steps, which need threads besides its own.
            most = max(MIN_TURN_THREADS, 2 * self._session.admission.limit.most)
            # Daemon threads: a hanging handler must not prevent the end of the program.
            threads = [threading.Thread(target=perform_next, daemon=True) for _ in states[:most]]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        # No timeout for the turn: each call has its own.
        yield from turn.events(work, 0, "the turn")

    # The path

    def prepare(self, state: CallState) -> Steps:
        """Find the tool, check the arguments, and get the verdict and the approval."""
        try:
            yield from self._understand(state)
            yield from self._approvals.authorize(state)
            if state.result is None:
                state.enter("")
            else:
                self._finish_result(state)
        except NanocoderError as error:
            yield state.fail(error)

    def _understand(self, state: CallState) -> Steps:
        call = state.call
        state.enter("bootstrap")
        yield state.event("call.received", **call_data(call))
        state.cancel.check()
        # Opened for the first call; if that fails, the call fails and not the run.
        self._session.open_workspace()
        state.enter("input")
        if call.error:
            raise BadArguments([call.error])
        state.tool, arguments, state.understood = self._read_call(call)
        yield state.event("call.normalised", tool=state.tool.name, plugin=state.tool.plugin)
        if state.depth > MAX_DEPTH:
            problem = f"composed tools may not nest deeper than {MAX_DEPTH}"
            raise ToolError(f"{state.tool.name}: {problem}")
        # The policies judge a copy that no other code can change.
        state.call = evolve(call, name=state.tool.name, arguments=copy_arguments(arguments))

    def _read_call(self, call: ToolCall) -> tuple[Tool[..., Any], Mapping[str, Any], Sequence[str]]:
        """Return a call's tool and arguments, and a line for each correction of the call."""
        session, tools = self._session, self._session.tools
        # Unwraps {"name": …, "params": …} and refuses too many arguments.
        form = {"name": call.name, "arguments": call.arguments}
        name, arguments = normalise(form, self._parameter_names) if call.name else ("", {})
        named = evolve(call, name=name, arguments=arguments)
        context = session.hook_context(call=named, tools=tools)
        hooks = session.plugins.implementations("nanocoder_understand")
        read = dispatch.choose(hooks, session.plugins.report, context, Understood)
        read = read or Understood(name, arguments)
        return session.plugins.tool(read.name, tools).real(), read.arguments, read.remarks

    def _parameter_names(self, name: str) -> Sequence[str]:
        tool = self._session.tools.get(name)
        return () if tool is None else tuple(tool.parameters.get("properties", ()))

    def perform(self, state: CallState) -> Steps:
        """Wait for a slot and run the handler, unless the call has its result."""
        if state.result is not None:
            return
        tool, call = state.tool, state.call
        try:
            state.enter("execution")
            state.cancel.check()
            # The slot is released only after the handler has ended, or was abandoned.
            info, admission = self._session.info, self._session.admission
            # A sub-agent's call has a call in the parent session that waits for it.
            is_step = state.parent is not None or bool(info.parent)
            with admission.slot(tool, call.arguments, is_step=is_step, session=info) as slot:
                if slot.position:
                    yield state.event("call.queued", position=slot.position)
                state.queued_s = slot.wait(state.cancel)
                yield state.event("call.started", **call_data(call), effects=sorted(tool.effects))
                with self._running(state, slot) as handler:
                    limit = self._session.config.core.call_timeout_s
                    state.result = yield from state.worker.events(
                        handler,
                        limit if tool.timeout_s is None else tool.timeout_s,
                        tool.name,
                        partial(result_of_crash, call, tool),
                    )
            is_error, error_class = state.result.is_error, state.result.error_class
            yield state.event("call.finished", is_error=is_error, error_class=error_class)
            state.enter("output", error_class)
            self._finish_result(state)
            if state.result.artifact:
                yield state.event("call.truncated", artifact=state.result.artifact)
        except NanocoderError as error:
            yield state.fail(error)

    def finish(self, state: CallState) -> Steps:
        """Keep or revert the changes of a transactional call, and return the result."""
        if event := state.settle():
            yield event
        yield state.returned()

    # The parts of it

    @contextlib.contextmanager
    def _running(self, state: CallState, slot: Slot) -> Iterator[Callable[[], ToolResult]]:
        """Yield a function that runs the handler; afterwards end the call and its processes."""
        state.begin(self._session.info.id, self._session.open_workspace)
        try:
            yield partial(state.tool.invoke, self._context(state), state.arguments)
        finally:
            state.running_beside = self._session.admission.running_beside(slot)
            state.end(keep_tmp=self._session.config.core.keep_tmp)
            # A thread cannot be stopped: `close` waits for it once more.
            if state.worker.is_left_behind and state.worker.thread:
                self._left_behind.append(state.worker.thread)

    def _context(self, state: CallState) -> ToolContext:
        tool, call, worker, session = state.tool, state.call, state.worker, self._session
        workspace = state.workspace(session.open_workspace)
        return ToolContext(
            session_id=session.info.id,
            message_id=call.id,
            workspace=workspace,
            working_directory=workspace.root,
            cancelled=state.cancel,
            settings=session.plugins.settings(tool.plugin) if tool.plugin else None,
            session=session.info,
            state=state.state,
            timeout_s=session.config.core.call_timeout_s,
            call=partial(self._call_step, state, itertools.count(1)),
            resource=partial(session.resource, tool.plugin),
            progress=lambda text, **data: worker.emit(
                state.event("call.progress", text=text, **data)
            ),
            make_tmp=state.make_tmp_dir,
            wrap=partial(session.wrap, access=state.verdict.processes),
            tools=session.tool_infos,
            child=partial(self._child, state),
            artifact=session.keep_output,
            ask=lambda question: worker.run_steps(inquiry(evolve(question, call_id=call.id))),
        )

    def _call_step(
        self, state: CallState, numbers: Iterator[int], name: str, arguments: Mapping[str, Any]
    ) -> ToolResult:
        """Run a step of a composed call through the whole path, on the thread of its handler."""
        state.tool.check_step(name, self._session.tools.get(name))
        step_id = f"{state.call.id}.{next(numbers)}"
        call = ToolCall(step_id, name, dict(arguments), parent_id=state.call.id)
        step = CallState(call, Cancel(state.cancel), parent=state)
        # A step abandoned by its parent reverts its changes and closes its cancel.
        with contextlib.closing(step):
            for steps in self._steps(step):
                state.worker.run_steps(steps)
        return step.outcome

    def _finish_result(self, state: CallState) -> None:
        """Finish a call's result: add the notes, pass it through the plugins, limit its size."""
        undone = self._session.sandbox_changes()
        result = with_notes(state.call, state.outcome, state.changed_by, undone, state.understood)
        # Before clipping: the file with the full output must not have a redacted secret.
        result = self._after_execute(state, result)
        result = limit_output(state.call.id, result, self._session.keep_output)
        state.result = evolve(result, metadata={**result.metadata, **state.metadata()})

    def _after_execute(self, state: CallState, result: ToolResult) -> ToolResult:
        """Pass a result through the `after_execute` chain; one that fails withholds it."""
        session, plugins = self._session, self._session.plugins
        arguments = session.hook_context(result=result, call=state.call, tool=state.tool)
        chain = plugins.implementations("nanocoder_after_execute")
        try:
            return dispatch.chain(chain, arguments, "result", ToolResult, accept)
        except PluginError as error:
            plugins.report(error)
            raise ToolError(f"the result is withheld: {error}", error_class="withheld") from error


def result_of_crash(call: ToolCall, tool: Tool[..., Any], error: BaseException) -> ToolResult:
    """Return the result of a handler's exception: our own kinds, or an unexpected one."""
    if isinstance(error, NanocoderError):
        try:
            return result_of_error(call, error)
        except BaseException as other:  # noqa: BLE001 - a plugin's error may fail to say what it is
            error = other
    if os.environ.get("NANOCODER_DEBUG"):
        traceback.print_exception(error)
    problem = problem_of(error, tool.handler.__module__)
    message = f"Error: {call.name} of {tool.plugin or 'this session'} broke: {problem}"
    return result_of_error(call, ToolError(message, error_class="tool_broken"))
