"""The loop: ask the model, run its calls, repeat; one session from its first event to its last."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Self

from attrs import evolve

from nanocoder.cancel import Cancel
from nanocoder.config.config import Config
from nanocoder.errors import Cancelled, NanocoderError, ToolError
from nanocoder.hooks import styles
from nanocoder.path.path import Executor, Services
from nanocoder.plugins import Plugins
from nanocoder.plugins.preload import preload
from nanocoder.provider import Finished, Provider, Request
from nanocoder.session.config_check import start_notices
from nanocoder.session.conversation import Conversation
from nanocoder.session.limits import Budget, RepetitionGuard, refuse_unknown_price, spent_limit
from nanocoder.session.listeners import Listeners
from nanocoder.session.messages import encode, spoken
from nanocoder.session.models import Chosen, choose_model, open_provider, streamed
from nanocoder.session.prompt import NAMED_FILE_CHARS, for_small_model, system_prompt
from nanocoder.session.reply import ask, cut_repetition
from nanocoder.session.report import Report, usage_data
from nanocoder.session.run import Run
from nanocoder.session.runtime import Runtime
from nanocoder.session.sub_sessions import SubSessions
from nanocoder.session.tool_list import ToolList
from nanocoder.tools.outcome import not_run
from nanocoder.tools.session_info import SessionInfo
from nanocoder.tools.tool import Tool
from nanocoder.values import (
    Attachment,
    Decision,
    Event,
    Message,
    Mode,
    StopReason,
    ToolCall,
    ToolResult,
    Usage,
)

LAST_WORDS = "The turn limit is reached. Answer now with what you have; no more tools will run."

Events = Generator[Event, None, Any]


class Session:
    """One conversation in one directory. Made by `open_session`; use it as a context manager.

    `run` and `call` yield events as they happen; `report` is what the latest run came to, `result`
    what the latest `call` did.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.plugins: Plugins = runtime.plugins
        self.config: Config = runtime.config
        self.info: SessionInfo = runtime.info
        self.journal = runtime.journal
        self.open_workspace = runtime.open_workspace
        self.tool_list = ToolList(runtime.dialect)
        self.sub_sessions = SubSessions(runtime, self.is_over_budget)
        self.approvals = runtime.approvals()
        self.executor = Executor(
            self.plugins,
            runtime.open_workspace,
            self.approvals,
            Services(
                session_id=self.info.id,
                resource=runtime.resource,
                artifact=runtime.keep_output,
                wrap=runtime.wrap,
                child=partial(self.sub_sessions.open, Session),
                tools=lambda: self.tool_list.infos(self.tools, self.info),
                call_timeout_s=self.config.core.call_timeout_s,
                keep_tmp=self.config.core.keep_tmp,
                admission=runtime.admission,
                is_inner=runtime.parent is not None,
            ),
        )
        self.report = Report(session_id=self.info.id)
        self.result: ToolResult | None = None
        self._listeners = Listeners(runtime)
        self._conversation = Conversation(runtime.messages)
        self._current: Run | None = None
        self._chosen: Chosen | None = None
        self._provider: Provider | None = None
        self._system: str | None = None
        self._early, self._signal = Cancel(), 0
        self._started, self._closed, self._announced = False, False, ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def id(self) -> str:
        """The session's id, by which it can be resumed."""
        return self.info.id

    @property
    def messages(self) -> Sequence[Message]:
        """The transcript so far."""
        return tuple(self._conversation.messages)

    def __repr__(self) -> str:
        model = self.info.model or "no model asked yet"
        return f"<Session {self.info.id} in {self.info.cwd}: mode {self.info.mode}, {model}>"

    @property
    def tools(self) -> dict[str, Tool[..., Any]]:
        """The tools on offer, by name."""
        return self.plugins.tools()

    @property
    def chosen(self) -> Chosen:
        """The provider and model; raises UsageError or ProviderError."""
        if self._chosen is None:
            model = self.info.model
            self._chosen = choose_model(self.plugins, model, self.info, config=self.config)
        return self._chosen

    @property
    def provider(self) -> Provider:
        """The provider, opened at first use; raises UsageError when its price must be known."""
        return self._provider or self._open_provider(self.chosen)

    def _open_provider(self, chosen: Chosen) -> Provider:
        provider = open_provider(self.plugins, chosen)
        refuse_unknown_price(self.config.core, provider, str(chosen))
        if self._provider is not None:
            self._provider.close()
        self._chosen, self._provider = chosen, provider
        self._set_info(model=str(chosen), profile=provider.profile)
        return provider

    @property
    def system(self) -> str:
        """The system prompt; the same text until the mode changes."""
        if self._system is None:
            hooks, report = self.plugins.implementations("nanocoder_prompt"), self.plugins.report
            added = styles.collect(hooks, report, self._hook_context(), str)
            self._system = system_prompt(self.info, [text for _, text in added])
        return self._system

    def set_mode(self, mode: Mode) -> None:
        """Change how much nanocoder may do without asking, from the next call on."""
        self._set_info(mode=mode)
        self.sub_sessions.tighten(mode)
        self._system = None

    def set_model(self, model: str) -> None:
        """Talk to another model from the next turn on.

        Raises UsageError and changes nothing if there is none.
        """
        self._open_provider(choose_model(self.plugins, model, self.info))

    def reload(self) -> None:
        """Read the configuration again: the next call is judged by its rules.

        Raises: ConfigError or PluginError, and the rules stay as they were.
        """
        self.config = self._runtime.reload()

    def run(
        self, prompt: str, *, attachments: Sequence[Attachment] = (), typed: str | None = None
    ) -> Iterator[Event]:
        """Work on *prompt* until the model answers; yields events, the last is `run.finished`.

        *typed* is what a person typed of it, if not all: people are shown that. Raises: UsageError
        or ProviderError when there is no model to ask. What goes wrong later is in the report.
        """
        message = Message("user", prompt, attachments=tuple(attachments), typed=typed)
        return self._listeners.deliver_all(self._prompted(message), self._hook_context)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Iterator[Event]:
        """Take one call down the same path that the model's take.

        The last event is `call.returned`.
        """
        call = ToolCall(f"call-{len(self.report.tool_calls) + 1}", name, dict(arguments))
        return self._listeners.deliver_all(self._called(call), self._hook_context)

    def interrupt(self, reason: str = "interrupted", *, signal: int = 0) -> None:
        """Stop the run; may be called from any thread, but not from a signal handler.

        *signal* is the number of the signal that asked for it: the report keeps it.
        """
        self._signal = signal
        # Before the first run there is nothing to stop yet: it stops as soon as it begins.
        (self._current.cancel if self._current is not None else self._early).set(reason)

    def close(self) -> None:
        """End the session: `session.finished` is its last event; everything it opened is closed."""
        if self._closed:
            return
        self._closed = True
        self.sub_sessions.close(self.report)
        if self._started:
            last = Event("session.finished", self.report.data())
            self._listeners.deliver(last, self._hook_context())
        self.executor.close()
        if self._provider is not None:
            self._provider.close()
        self._runtime.close()

    def _prompted(self, message: Message) -> Events:
        provider = self.provider
        run = Run(
            Report(self.info.id, self.info.model, dry_run=self.approvals.start_dry_run()),
            RepetitionGuard(self.tools),
            self._early if self._current is None else Cancel(),
            Budget(self._runtime.max_calls, self._runtime.max_tokens),
            max_turns=self._runtime.max_turns,
        )
        self._current, self.report = run, run.report
        yield from self._begun()
        if self._conversation.messages and self._conversation.messages[-1].calls:
            # The listener of the run before left it in the middle.
            open_calls = self._conversation.messages[-1].calls
            yield self._conversation.add_results(not_run(open_calls, "it was interrupted"), ())
        typed, _ = spoken(message)
        yield Event("run.started", {"prompt": typed})
        if provider.profile == "small":
            text = for_small_model(message.text, self._small_file, self.info.mode)
            message = evolve(message, text=text, typed=typed)
        yield self._conversation.add(message)
        try:
            run.report.end((yield from self._turns(run)))
        except Cancelled:
            run.report.end(StopReason.INTERRUPTED)
        except NanocoderError as error:
            run.report.fail(error)
        if run.report.stop_reason is StopReason.INTERRUPTED:
            run.report.signal = self._signal
        yield Event("run.finished", run.report.data())

    def _called(self, call: ToolCall) -> Events:
        run = Run(
            self.report, RepetitionGuard({}), self._early if self._current is None else Cancel()
        )
        self._current = run
        yield from self._begun()
        self.result = yield from self.executor.path(call, run.cancel)
        self._note([call], [self.result], run)

    def _begun(self) -> Events:
        if not self._started:
            self._started = True
            info, resumed = self.info, bool(self._conversation.messages)
            about = {"session_id": info.id, "model": info.model, "cwd": str(info.cwd)}
            yield Event("session.started", {**about, "mode": str(info.mode), "resumed": resumed})
            for line in () if self._runtime.parent else start_notices(self.config, self.plugins):
                yield Event("notice", {"text": line})
        if self.info.model != self._announced:  # a resumed session goes on with its last model
            self._announced = self.info.model
            yield Event("session.changed", {"model": self.info.model})

    def _turns(self, run: Run) -> Generator[Event, None, StopReason]:
        for _ in range(run.max_turns):
            run.report.turns += 1
            reply = yield from self._reply(run)
            ended = run.ending(reply)
            if reply.calls and ended is None:
                ended = yield from self._answered(reply.calls, run)
            elif reply.calls:
                yield self._conversation.add_results(not_run(reply.calls, "the run is over"), ())
            elif ended is None:
                yield self._conversation.add(Message("user", run.hint, typed=""))
            if ended is not None:
                return ended
        yield self._conversation.add(Message("user", LAST_WORDS, typed=""))
        reply = yield from self._reply(run)
        if reply.calls:
            yield self._conversation.add_results(
                not_run(reply.calls, "the turn limit is reached"), ()
            )
        turns = f"{run.max_turns} turn{'' if run.max_turns == 1 else 's'}"
        limit = f"stopped at the limit of {turns} (max_turns, --max-turns)"
        return run.report.stopped(StopReason.TURN_LIMIT, limit)

    def _answered(
        self, wanted: Sequence[ToolCall], run: Run
    ) -> Generator[Event, None, StopReason | None]:
        """Run the calls of one turn and give the model a result for each.

        Returns why the run ends, if it does.
        """
        if run.budget.spent:
            spent = f"its budget is spent: {run.budget.spent}"
            yield self._conversation.add_results(not_run(wanted, spent), ())
            return run.report.stopped(StopReason.BUDGET, spent)
        canonical = [self.tool_list.canonical(call) for call in wanted]
        results, told = yield from self._results(canonical, run)
        self._note(canonical, results, run)
        said = self.tool_list.rendered(wanted, results)
        yield self._conversation.add_results(said, told if self.tool_list.dialect is None else ())
        if run.cancel.is_set():
            return StopReason.INTERRUPTED
        stuck = run.guard.check_turn(canonical, results)
        if stuck:
            return run.report.stopped(StopReason.LOOP, stuck)
        limit = self._spent(Usage())
        return run.report.stopped(StopReason.BUDGET, limit) if limit else None

    def _results(
        self, canonical: Sequence[ToolCall], run: Run
    ) -> Generator[Event, None, tuple[list[ToolResult], set[str]]]:
        """Return a result for each call, and the ids of those that `call.returned` has told."""
        known = {call.id: run.guard.repeated_result(call) for call in canonical[:1]}
        rest = [call for call in canonical if known.get(call.id) is None]
        may, why = run.affordable(len(rest))
        ran = yield from self.executor.turn(rest[:may], run.cancel)
        done = [*ran, *not_run(rest[may:], why)]
        found = {call.id: result for call, result in zip(rest, done, strict=True)}
        results = [known.get(call.id) or found[call.id] for call in canonical]
        return results, {call.id for call in rest[:may]}

    def _reply(self, run: Run) -> Generator[Event, None, Finished]:
        """Ask the model once; the reply is added to the transcript before its calls run."""
        system = self.system
        yield from self._conversation.compact(self.plugins, self.provider, self._hook_context())
        request = self._request(system)
        run.offered = request.tools
        yield Event("request.started", {"turn": run.report.turns, "model": self.info.model})
        listed = [tool.name for tool in self.tools.values() if tool.always_listed]
        with preload(self.plugins.modules(listed if run.report.turns == 1 else ())):
            reply = yield from ask(
                lambda: streamed(self.provider, self.chosen, request, run.cancel),
                self.info.model,
                run.cancel,
                lambda text: self._conversation.add(Message("assistant", text)),
            )
        run.is_stuck = reply.is_stuck
        stopped = Finished(cut_repetition(reply.text), truncated=True)
        finished = reply.finished or stopped
        run.report.usage += finished.usage
        if self._runtime.parent is not None:
            self._runtime.parent.add_usage(finished.usage)
        run.report.text, run.report.truncated = finished.text, finished.truncated
        message = Message("assistant", finished.text, calls=finished.calls, native=finished.native)
        event = self._conversation.add(message)
        yield evolve(event, data={**event.data, "usage": encode(finished.usage)})
        data = {"usage": usage_data(finished.usage), "truncated": finished.truncated}
        yield Event("request.finished", data)
        return finished

    def _request(self, system: str) -> Request:
        request = Request(
            model=self.chosen.model,
            system=system,
            messages=self._conversation.messages,
            tools=self.tool_list.definitions(self.tools, self.info),
            session_id=self.info.id,
        )
        chain = self.plugins.implementations("nanocoder_before_request")
        if not chain:
            return request
        return styles.chain(chain, {"request": request, **self._hook_context()}, "request", Request)

    def _small_file(self, path: str) -> str:
        """Return a small file's text if every tool that reads a path may read it, else nothing."""
        readers = [tool for tool in self.tools.values() if tool.reads_one_path]
        calls = [ToolCall("named-file", tool.name, {"path": path}) for tool in readers]
        verdicts = map(self.approvals.verdict, calls, readers)
        if readers and all(verdict.decision is Decision.ALLOW for verdict in verdicts):
            with suppress(ToolError):
                return self.open_workspace().read_text(path, max_bytes=NAMED_FILE_CHARS)
        return ""

    def _note(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], run: Run) -> None:
        run.report.note(calls, results, self.tools)
        self.sub_sessions.move_totals(run.report)
        if self._runtime.parent is not None:
            self._runtime.parent.add_changed_files(self.info, run.report.files_changed)

    def is_over_budget(self, more: Usage) -> bool:
        """Tell whether the latest run, with *more*, has used what it may, or a parent has."""
        return bool(self._spent(more))

    def _spent(self, more: Usage) -> str:
        """Return which limit the latest run, with *more*, has reached, or nothing."""
        parent = self._runtime.parent
        if parent is not None and parent.is_over_budget():
            return "stopped: the parent session's budget is spent"
        return spent_limit(self.config.core, self.report.usage + more)

    def _hook_context(self) -> dict[str, Any]:
        return {"session": self.info, "settings": self.plugins.settings}

    def _set_info(self, **changes: Any) -> None:
        self._runtime.set_info(evolve(self.info, **changes))
        self.info = self.approvals.session = self._runtime.info
