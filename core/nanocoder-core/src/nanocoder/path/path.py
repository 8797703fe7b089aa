"""The one path of a call; there is no other way to a handler.

received, normalised, found, checked, judged, approved, admitted, journaled as started, run, seen by
`after_execute`, journaled as returned: every step is an event. The path is a generator,
so that its events reach whoever listens before the next step is taken: the journal has a call
before it runs.
"""

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve, field, frozen
from nanocoder_schema import Value, copy_arguments, normalise

from nanocoder.cancel import Cancel
from nanocoder.errors import BadArguments, Cancelled, NanocoderError, ToolError
from nanocoder.path import dry_run
from nanocoder.path.approval import Approvals, Ask, Authorized
from nanocoder.path.outcome import (
    add_note,
    after_execute,
    call_data,
    edited_note,
    limit_output,
    result_data,
    result_of_crash,
    result_of_error,
)
from nanocoder.path.queue import Admission
from nanocoder.path.scope import Scope
from nanocoder.path.stages import Watch
from nanocoder.path.steps import refuse_step
from nanocoder.path.transaction import Transaction, caught, ended
from nanocoder.path.worker import Caller, Emitted, TmpDir, Worker, inquiry
from nanocoder.plugins import Plugins
from nanocoder.tools.tool import (
    MAX_DEPTH,
    Tool,
    ToolContext,
    ToolInfo,
)
from nanocoder.values import Event, ToolCall, ToolResult

if TYPE_CHECKING:
    from nanocoder_files import Workspace

CLOSE_GRACE_S = 6.0
"""How long the end of a session waits for calls that were left behind.

Killing a process takes up to 5 s.
"""
MIN_TURN_THREADS = 32
"""So many calls of one turn get a thread at once; more where more may work."""

Steps = Generator[Emitted, None, ToolResult]
T = TypeVar("T")


@frozen(eq=False, repr=False)
class Services(Value):
    """What a session offers to its tools.

    *call_timeout_s* is the limit, in seconds, of tools that set none (0: no limit). With *keep_tmp*
    the private directories of calls stay. *is_inner* says that a call of another session, with
    which it shares *admission*, waits for this one.
    """

    session_id: str = ""
    resource: Callable[[str, str], Any] | None = None
    artifact: Callable[[str, bytes], str] | None = None
    wrap: Callable[[list[str]], list[str]] | None = None
    tools: Callable[[], tuple[ToolInfo, ...]] | None = None
    child: Callable[..., Any] | None = None
    call_timeout_s: float = 0.0
    keep_tmp: bool = False
    admission: Admission = field(factory=Admission)
    is_inner: bool = False


class Executor:
    """Runs calls for one session; *workspace* is asked for at the first of them."""

    def __init__(
        self,
        plugins: Plugins,
        workspace: "Callable[[], Workspace]",
        approvals: Approvals,
        services: Services | None = None,
    ) -> None:
        self._plugins = plugins
        self._workspace = workspace
        self._approvals = approvals
        self._services = services or Services()
        self._admission = self._services.admission
        self._left_behind: list[threading.Thread] = []

    def turn(
        self, wanted: Sequence[ToolCall], cancel: Cancel
    ) -> Generator[Event, None, list[ToolResult]]:
        """Run the calls of one turn and return a result for each, in their order.

        Reading calls run in parallel; one call with another effect makes the turn sequential.
        """
        if len(wanted) > 1 and all(map(self._only_reads, wanted)):
            return (yield from self._asking(self._parallel(wanted, cancel), cancel))
        results = []
        for call in wanted:
            results.append((yield from self.path(call, cancel)))  # noqa: PERF401 - it yields
        return results

    def path(self, call: ToolCall, cancel: Cancel) -> Generator[Event, None, ToolResult]:
        """Take one call down the whole path; every failure is a result, too."""
        return (yield from self._asking(self._steps(call, cancel, Scope()), cancel))

    def close(self) -> None:
        """Wait a little for calls that did not stop when they were told to."""
        deadline = time.monotonic() + CLOSE_GRACE_S
        for thread in self._left_behind:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _asking(
        self, steps: Generator[Emitted, None, T], cancel: Cancel
    ) -> Generator[Event, None, T]:
        """Answer the questions among *steps* on this thread and pass the events on."""
        try:
            while True:
                item = next(steps)
                yield item.told if isinstance(item, Ask) else item
                # Whoever interrupted the run does not want to be asked.
                if isinstance(item, Ask) and not cancel.is_set():
                    item.answer = self._approvals.ask(item.request, cancel)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    def _parallel(
        self, wanted: Sequence[ToolCall], cancel: Cancel
    ) -> Generator[Emitted, None, list[ToolResult]]:
        """Get consent one after the other, then run together; a slot at a time for each."""
        ready = []
        for call in wanted:
            watch = Watch()
            steps = yield from self._prepared(call, cancel, watch)
            ready.append(self._settled(call, steps, watch))
        whole = Cancel(cancel)
        results: list[ToolResult | None] = [None] * len(ready)
        waiting = iter(range(len(ready)))  # `next` of it is one step: no two threads get the same

        def work(worker: Worker) -> None:
            def drive() -> None:
                for index in waiting:
                    # Cancelled: nobody listens to the turn any more.
                    with contextlib.suppress(Cancelled):
                        results[index] = worker.run_steps(ready[index])

            # A call that only waits for its steps needs a thread beside theirs.
            most = max(MIN_TURN_THREADS, 2 * self._admission.limiter.most)
            threads = [threading.Thread(target=drive, daemon=True) for _ in ready[:most]]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        yield from Worker(work, whole).outcome(0, "the turn")
        whole.close()
        return [
            result or result_of_error(call, Cancelled("interrupted"))
            for call, result in zip(wanted, results, strict=True)
        ]

    def _prepared(
        self, call: ToolCall, cancel: Cancel, watch: Watch
    ) -> Generator[Emitted, None, Steps]:
        scope = Scope()
        try:
            tool, granted = yield from self._granted(call, cancel, scope, watch)
        except NanocoderError as error:
            return _raising(error)
        return self._whole(tool, granted, cancel, scope, watch)

    def _steps(self, call: ToolCall, cancel: Cancel, scope: Scope) -> Steps:
        watch = Watch()
        return (yield from self._settled(call, self._unsettled(call, cancel, scope, watch), watch))

    def _unsettled(self, call: ToolCall, cancel: Cancel, scope: Scope, watch: Watch) -> Steps:
        tool, granted = yield from self._granted(call, cancel, scope, watch)
        return (yield from self._whole(tool, granted, cancel, scope, watch))

    def _settled(self, call: ToolCall, steps: Steps, watch: Watch) -> Steps:
        """Turn whatever ends *steps* into the call's one result."""
        started = time.perf_counter()
        result = yield from caught(call, steps, watch)
        milliseconds = round((time.perf_counter() - started) * 1000, 3)
        result = evolve(result, call_id=call.id, duration_ms=milliseconds)
        yield Event("call.returned", {**result_data(call, result), **watch.data()}, call.id)
        return result

    def _granted(
        self, call: ToolCall, cancel: Cancel, scope: Scope, watch: Watch
    ) -> Generator[Emitted, None, tuple[Tool[..., Any], Authorized]]:
        watch.enter("bootstrap")
        yield Event("call.received", call_data(call), call.id)
        cancel.check()
        self._workspace()
        watch.enter("input")
        if call.error:
            raise BadArguments([call.error])
        call = self._normalised(call)
        tool = self._plugins.tool(call.name).real()
        watch.ignored = tool.signature.empty_options(call.arguments)
        yield Event("call.normalised", {"tool": tool.name, "plugin": tool.plugin}, call.id)
        if scope.depth > MAX_DEPTH:
            raise ToolError(f"{call.name}: composed tools may not nest deeper than {MAX_DEPTH}")
        # What the policies judge is a copy that nobody else can change.
        given = {name: one for name, one in call.arguments.items() if name not in watch.ignored}
        mine = evolve(call, arguments=copy_arguments(given))
        consented = scope.consented and scope.active
        granted = yield from self._approvals.authorize(
            mine, tool, tool.signature.check, watch, cancel, consented=consented
        )
        if granted.obstacle is None:
            watch.enter("")
        return tool, granted

    def _normalised(self, call: ToolCall) -> ToolCall:
        """Take arguments out of {"name": …, "params": …}, refuse more than a call may have."""
        tools = self._plugins.tools()

        def names(name: str) -> Sequence[str]:
            tool = tools.get(name)
            return tuple(tool.parameters.get("properties", ())) if tool is not None else ()

        given = {"name": call.name, "arguments": call.arguments}
        name, arguments = normalise(given, names)
        return evolve(call, name=name, arguments=arguments)

    def _whole(
        self, tool: Tool[..., Any], granted: Authorized, cancel: Cancel, scope: Scope, watch: Watch
    ) -> Steps:
        """Perform a call; what a transactional one changes is kept wholly or not at all."""
        if granted.obstacle is not None:
            return self._foreseen(tool, granted.call, granted.obstacle, watch)
        if granted.foretold is not None:
            return self._foretold(tool, granted, granted.foretold)
        if not tool.transactional or scope.transaction is not None:
            return self._performed(tool, granted, cancel, scope, watch)
        own = Transaction(self._services.session_id, tool, granted.call, self._workspace)
        scope = evolve(scope, transaction=own)
        return own.around(self._performed(tool, granted, cancel, scope, watch), watch)

    def _foreseen(
        self, tool: Tool[..., Any], call: ToolCall, obstacle: ToolError, watch: Watch
    ) -> Steps:
        """End a call that cannot work; what its error quotes passes the plugins like any result."""
        return self._composed(tool, call, (yield from ended(call, obstacle, watch)))

    def _foretold(self, tool: Tool[..., Any], granted: Authorized, row: Mapping[str, str]) -> Steps:
        yield dry_run.shown(row)
        return self._composed(tool, granted.call, dry_run.not_done(granted.call))

    def _performed(
        self, tool: Tool[..., Any], granted: Authorized, cancel: Cancel, scope: Scope, watch: Watch
    ) -> Steps:
        watch.enter("execution")
        cancel.check()
        result = yield from self._admitted(tool, granted, cancel, scope, watch)
        outcome = {"is_error": result.is_error, "error_class": result.error_class}
        yield Event("call.finished", outcome, granted.call.id)
        watch.enter("output", result.error_class)
        result = self._composed(tool, granted.call, result)
        if more := watch.metadata():
            result = evolve(result, metadata={**result.metadata, **more})
        if result.artifact:
            yield Event("call.truncated", {"artifact": result.artifact}, granted.call.id)
        return result

    def _admitted(
        self, tool: Tool[..., Any], granted: Authorized, cancel: Cancel, scope: Scope, watch: Watch
    ) -> Steps:
        """Run a call as soon as there is room for it."""
        call = granted.call
        is_step = scope.depth > 0 or self._services.is_inner
        session = self._approvals.session
        with self._admission.slot(tool, call.arguments, is_step=is_step, session=session) as slot:
            if slot.position:
                yield Event("call.queued", {"position": slot.position}, call.id)
            watch.queued_s = slot.wait(cancel)
            yield Event("call.started", call_data(call), call.id)
            error_class = ""
            try:
                result = yield from self._run(tool, granted, cancel, scope, watch)
                error_class = result.error_class
            except ToolError as error:
                error_class = error.error_class
                raise
            finally:
                self._admission.learn(slot, tool.name, watch.ran_s, error_class)
        return result

    def _run(
        self, tool: Tool[..., Any], granted: Authorized, cancel: Cancel, scope: Scope, watch: Watch
    ) -> Steps:
        own = Cancel(cancel)
        inner = scope.inside(tool, granted)
        room = TmpDir(kept=self._services.keep_tmp)

        def work(running: Worker) -> ToolResult:
            context = self._context(tool, granted.call, own, inner, running, room)
            try:
                try:
                    return tool.invoke(context, granted.arguments)
                except NanocoderError as error:
                    # What a plugin's error says may raise, too.
                    return result_of_error(granted.call, error)
            except BaseException as error:  # noqa: BLE001 - whatever a tool raises is a result
                return result_of_crash(granted.call, tool, error)

        running = Worker(work, own)
        limit = self._services.call_timeout_s if tool.timeout_s is None else tool.timeout_s
        try:
            return room.told((yield from running.outcome(limit, tool.name)))
        finally:
            watch.ran_s = running.ran_s()
            inner.active = False
            own.close()
            room.clean()
            scope.ran(tool)
            if running.thread.is_alive() and own.is_set():
                self._left_behind.append(running.thread)

    def _context(
        self,
        tool: Tool[..., Any],
        call: ToolCall,
        cancel: Cancel,
        scope: Scope,
        running: Worker,
        room: TmpDir,
    ) -> ToolContext:
        services = self._services
        resource = services.resource
        numbers = itertools.count(1)

        def sub_call(name: str, arguments: Mapping[str, Any]) -> ToolResult:
            refuse_step(tool, name, self._plugins.tools())
            step = ToolCall(f"{call.id}.{next(numbers)}", name, dict(arguments), parent_id=call.id)
            return running.run_steps(self._steps(step, cancel, scope))

        workspace = scope.workspace(self._workspace)
        return ToolContext(
            session_id=services.session_id,
            message_id=call.id,
            workspace=workspace,
            working_directory=workspace.root,
            cancelled=cancel,
            settings=self._plugins.settings(tool.plugin) if tool.plugin else None,
            session=self._approvals.session,
            state=scope.state,
            timeout_s=services.call_timeout_s,
            call=sub_call,
            resource=None if resource is None else lambda name: resource(tool.plugin, name),
            progress=lambda text: running.emit(Event("call.progress", {"text": text}, call.id)),
            make_tmp=room.path,
            wrap=services.wrap,
            tools=services.tools,
            child=services.child and partial(services.child, Caller(tool, call, cancel, running)),
            artifact=services.artifact,
            ask=lambda question: running.run_steps(inquiry(evolve(question, call_id=call.id))),
        )

    def _composed(self, tool: Tool[..., Any], call: ToolCall, result: ToolResult) -> ToolResult:
        """Make the one result of a call: noted, seen by the plugins, fit to be read."""
        if call.edited:
            result = add_note(result, edited_note(call))
        about = {"call": call, "tool": tool, "session": self._approvals.session}
        result = after_execute(self._plugins, about, result)
        return limit_output(call, result, self._services.artifact)

    def _only_reads(self, call: ToolCall) -> bool:
        tool = self._plugins.tools().get(call.name)
        if tool is None or tool.is_read_only:
            return True
        try:
            tells = tool.real().only_reads
            return tells is not None and bool(tells(call.arguments))
        except Exception:  # noqa: BLE001 - a plugin that breaks is told of where the call runs
            return False


def _raising(error: NanocoderError) -> Steps:
    raise error
    yield  # makes this a generator
