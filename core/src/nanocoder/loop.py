"""The loop: ask the model, run its calls, repeat; one session from its first event to its last."""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from attrs import define, evolve

from nanocoder import calls
from nanocoder.cancel import Cancel
from nanocoder.config import Config
from nanocoder.consent import Consent
from nanocoder.errors import Cancelled, NanocoderError, ProviderError
from nanocoder.execute import Executor, Services
from nanocoder.guard import Guard
from nanocoder.models import Chosen, choose_model, open_provider, streamed
from nanocoder.offering import Offering
from nanocoder.opening import Ground, open_ground
from nanocoder.plugins import Plugins
from nanocoder.prompt import NAMED_FILE_CHARS, named_files, size_of, system_prompt
from nanocoder.provider import Finished, Provider, Request, TextDelta, ThinkingDelta
from nanocoder.report import Report
from nanocoder.results import not_run
from nanocoder.session import encode_message, encode_usage
from nanocoder.tool import SessionInfo, Tool
from nanocoder.values import (
    Attachment,
    Decision,
    Event,
    Message,
    Mode,
    Shown,
    StopReason,
    ToolCall,
    ToolResult,
)

LAST_WORDS = "The turn limit is reached. Answer now with what you have; no more tools will run."
COMPACT_AT = 0.8
"""Which part of the model's context may be used before the transcript is compacted."""

Events = Generator[Event, None, Any]


@define(eq=False, repr=False)
class _Run(Shown):
    """One prompt and what belongs to it alone."""

    report: Report
    guard: Guard
    cancel: Cancel
    max_turns: int = 50


class Session:
    """One conversation in one directory. Made by `open_session`; use it as a context manager.

    `run` and `call` yield events as they happen; `report` is what the latest run came to.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.plugins: Plugins = ground.plugins
        self.config: Config = ground.config
        self.info: SessionInfo = ground.info
        self.consent = Consent(self.plugins, self.info, ground.approve, ground.ask)
        self.executor = Executor(
            self.plugins,
            lambda: ground.workspace,
            self.consent,
            Services(
                session_id=self.info.id,
                resource=ground.resource,
                artifact=ground.artifact,
                wrap=ground.wrap,
                tools=lambda: self.offering.infos(self.tools, self.info),
                call_timeout_s=self.config.core.call_timeout_s,
                concurrency=self.config.core.concurrency,
            ),
        )
        self.report = Report(session_id=self.info.id)
        self._messages: list[Message] = list(ground.messages)
        self._size = sum(map(size_of, self._messages))
        self._current: _Run | None = None
        self._early = Cancel()
        self._started = False
        self._closed = False
        self.offering = Offering(ground.dialect, lambda: self.config.always_told)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def id(self) -> str:
        """The session's id, by which it can be resumed."""
        return self.info.id

    @property
    def messages(self) -> Sequence[Message]:
        """The transcript so far."""
        return tuple(self._messages)

    @property
    def tools(self) -> dict[str, Tool[..., Any]]:
        """The tools on offer, by name."""
        return self.plugins.tools()

    @cached_property
    def chosen(self) -> Chosen:
        """The provider and model; raises UsageError or ProviderError."""
        return choose_model(self.plugins, self.info.model, self.info)

    @cached_property
    def provider(self) -> Provider:
        """The provider, opened at first use."""
        provider = open_provider(self.plugins, self.chosen)
        self._set_info(model=str(self.chosen), profile=provider.profile)
        return provider

    @cached_property
    def system(self) -> str:
        """The system prompt, made once."""
        hooks, report = self.plugins.implementations("nanocoder_prompt"), self.plugins.report
        added = calls.collect(hooks, report, self._about(), str)
        return system_prompt(self.info, [text for _, text in added])

    def set_mode(self, mode: Mode) -> None:
        """Change how much may be done without asking, from the next call on."""
        self._set_info(mode=mode)
        self.__dict__.pop("system", None)

    def set_model(self, model: str) -> None:
        """Talk to another model from the next turn on.

        Raises UsageError and changes nothing if there is none.
        """
        chosen = choose_model(self.plugins, model, self.info)
        provider = open_provider(self.plugins, chosen)
        if "provider" in self.__dict__:
            self.provider.close()
        self.__dict__["chosen"] = chosen
        self.__dict__["provider"] = provider
        self._set_info(model=str(chosen), profile=provider.profile)

    def reload(self) -> None:
        """Read the configuration again: the next call is judged by its rules.

        Raises: ConfigError or PluginError, and the rules stay as they were.
        """
        self.config = self._ground.reload()

    def run(self, prompt: str, *, attachments: Sequence[Attachment] = ()) -> Iterator[Event]:
        """Work on *prompt* until the model answers; yields events, the last is `run.finished`.

        Raises: UsageError or ProviderError when there is no model to ask. What goes wrong later is
        in the report.
        """
        message = Message("user", prompt, attachments=tuple(attachments))
        return self._delivered(self._prompted(message))

    def call(self, name: str, arguments: Mapping[str, Any]) -> Iterator[Event]:
        """Take one call down the same path that the model's take.

        The last event is `call.returned`.
        """
        call = ToolCall(f"call-{len(self.report.tool_calls) + 1}", name, dict(arguments))
        return self._delivered(self._called(call))

    def interrupt(self, reason: str = "interrupted") -> None:
        """Stop the run; may be called from a signal handler or another thread."""
        # Before the first run there is nothing to stop yet: it stops as soon as it begins.
        (self._current.cancel if self._current is not None else self._early).set(reason)

    def close(self) -> None:
        """End the session: `session.finished` is its last event; everything it opened is closed."""
        if self._closed:
            return
        self._closed = True
        if self._started:
            self._deliver(Event("session.finished", self.report.data()))
        self.executor.close()
        if "provider" in self.__dict__:
            self.provider.close()
        self._ground.close()

    def _prompted(self, message: Message) -> Events:
        provider = self.provider
        run = _Run(
            Report(self.info.id, self.info.model),
            Guard(self.tools),
            self._early if self._current is None else Cancel(),
            max_turns=self._ground.max_turns,
        )
        self._current, self.report = run, run.report
        yield from self._begun()
        if self._messages and self._messages[-1].calls:
            # Whoever listened to the run before left it in the middle.
            yield self._added_results(not_run(self._messages[-1].calls, "it was interrupted"), ())
        yield Event("run.started", {"prompt": message.text})
        if provider.profile == "small":
            message = evolve(message, text=self._named_files(message.text) + message.text)
        yield self._added(message)
        try:
            run.report.end((yield from self._turns(run)))
        except Cancelled:
            run.report.end(StopReason.INTERRUPTED)
        except NanocoderError as error:
            run.report.fail(error)
        yield Event("run.finished", run.report.data())

    def _called(self, call: ToolCall) -> Events:
        run = _Run(self.report, Guard({}), self._early if self._current is None else Cancel())
        self._current = run
        yield from self._begun()
        result = yield from self.executor.path(call, run.cancel)
        run.report.note([call], [result], self.tools)

    def _begun(self) -> Events:
        if not self._started:
            self._started = True
            info = self.info
            data: dict[str, Any] = {"session_id": info.id, "model": info.model}
            data |= {"cwd": str(info.cwd), "mode": str(info.mode), "resumed": bool(self._messages)}
            yield Event("session.started", data)
            if self.info.model:
                yield Event("session.changed", {"model": self.info.model})

    def _turns(self, run: _Run) -> Generator[Event, None, StopReason]:
        for _ in range(run.max_turns):
            reply = yield from self._reply(run)
            if not reply.calls:
                return run.report.answered(reply.text)
            ended = yield from self._answered(reply.calls, run)
            if ended is not None:
                return ended
        yield self._added(Message("user", LAST_WORDS))
        reply = yield from self._reply(run)
        if reply.calls:
            yield self._added_results(not_run(reply.calls, "the turn limit is reached"), ())
        return StopReason.TURN_LIMIT

    def _answered(
        self, wanted: Sequence[ToolCall], run: _Run
    ) -> Generator[Event, None, StopReason | None]:
        """Run the calls of one turn and give the model a result for each.

        Returns why the run ends, if it does.
        """
        canonical = [self.offering.canonical(call) for call in wanted]
        results, told = yield from self._results(canonical, run)
        run.report.note(canonical, results, self.tools)
        said = self.offering.rendered(wanted, results)
        yield self._added_results(said, told if self.offering.dialect is None else ())
        if run.cancel.is_set():
            return StopReason.INTERRUPTED
        stuck = run.guard.seen(canonical, results)
        if stuck:
            run.report.error = {"class": "loop", "message": stuck}
            return StopReason.LOOP
        return StopReason.BUDGET if self._is_spent(run) else None

    def _results(
        self, canonical: Sequence[ToolCall], run: _Run
    ) -> Generator[Event, None, tuple[list[ToolResult], set[str]]]:
        """Return a result for each call, and the ids of those that `call.returned` has told."""
        known = {call.id: run.guard.answered(call) for call in canonical[:1]}
        rest = [call for call in canonical if known.get(call.id) is None]
        ran = yield from self.executor.turn(rest, run.cancel)
        found = {call.id: result for call, result in zip(rest, ran, strict=True)}
        return [known.get(call.id) or found[call.id] for call in canonical], set(found)

    def _reply(self, run: _Run) -> Generator[Event, None, Finished]:
        """Ask the model once; the reply is added to the transcript before its calls run."""
        system = self.system
        yield from self._compacted()
        request = self._request(system)
        run.report.turns += 1
        yield Event("request.started", {"turn": run.report.turns, "model": self.info.model})
        finished: Finished | None = None
        for piece in streamed(self.provider, self.chosen, request, run.cancel):
            if isinstance(piece, TextDelta):
                yield Event("text", {"text": piece.text})
            elif isinstance(piece, ThinkingDelta):
                yield Event("thinking", {"text": piece.text})
            else:
                finished = piece
        if finished is None:
            raise ProviderError(
                f"{self.info.model} ended without finishing its reply", kind="protocol"
            )
        run.report.usage += finished.usage
        run.report.text = finished.text
        usage = {"input": finished.usage.input_tokens, "output": finished.usage.output_tokens}
        said = Message("assistant", finished.text, calls=finished.calls, native=finished.native)
        event = self._added(said)
        yield evolve(event, data={**event.data, "usage": encode_usage(finished.usage)})
        yield Event("request.finished", {"usage": usage, "truncated": finished.truncated})
        return finished

    def _request(self, system: str) -> Request:
        request = Request(
            model=self.chosen.model,
            system=system,
            messages=self._messages,
            tools=self.offering.definitions(self.tools, self.info, self._messages),
            session_id=self.info.id,
        )
        chain = self.plugins.implementations("nanocoder_before_request")
        if not chain:
            return request
        return calls.chain(chain, {"request": request, **self._about()}, "request", Request)

    def _compacted(self) -> Events:
        """Let a plugin shorten a transcript that is about to outgrow the model's context."""
        limit = getattr(self.provider, "context", 0)
        if not limit or self._size < limit * COMPACT_AT:
            return
        about = {"messages": tuple(self._messages), "limit_tokens": limit, **self._about()}
        shorter = calls.choose(
            self.plugins.implementations("nanocoder_compact"),
            self.plugins.report,
            about,
            (list, tuple),
        )
        if shorter is not None:
            self._messages = list(shorter)
            self._size = sum(map(size_of, self._messages))
            messages = [encode_message(message) for message in self._messages]
            yield Event("transcript.compacted", {"messages": messages})

    def _named_files(self, text: str) -> str:
        """Return the files that a request names, whole when they are small.

        The best single help for a small model.
        """
        reader = self.tools.get("read_file")
        shown = []
        for path in named_files(text) if reader is not None else ():
            call = ToolCall("named-file", "read_file", {"path": path})
            if self.consent.verdict(call, reader).decision is Decision.ALLOW:  # type: ignore[arg-type]
                content = self._ground.small_file(path, NAMED_FILE_CHARS)
                if content:
                    shown.append(f"The file {path} now reads:\n```\n{content}\n```\n\n")
        return "".join(shown)

    def _added(self, message: Message) -> Event:
        self._messages.append(message)
        self._size += size_of(message)
        return Event("message", encode_message(message))

    def _added_results(self, results: Sequence[ToolResult], told: Collection[str]) -> Event:
        """Add the results of a turn; those that `call.returned` has *told* are not told again."""
        event = self._added(Message("tool", results=tuple(results)))
        untold = [one for one in results if one.call_id not in told or one.attachments]
        data = encode_message(Message("tool", results=tuple(untold)))
        return evolve(event, data={**data, "call_ids": [one.call_id for one in results]})

    def _is_spent(self, run: _Run) -> bool:
        core, usage = self.config.core, run.report.usage
        tokens = usage.input_tokens + usage.output_tokens
        too_dear = core.max_cost_usd and (usage.cost or 0.0) >= core.max_cost_usd
        return bool(too_dear or (core.max_tokens and tokens >= core.max_tokens))

    def _delivered(self, events: Events) -> Iterator[Event]:
        """Let the journal and the plugins know of each event before the next step is taken."""
        for event in events:
            self._deliver(event)
            yield event

    def _deliver(self, event: Event) -> None:
        self._ground.record(event)
        about = {"event": event, **self._about()}
        calls.tell(self.plugins.implementations("nanocoder_event"), self.plugins.report, about)

    def _about(self) -> dict[str, Any]:
        return {"session": self.info, "settings": self.plugins.settings}

    def _set_info(self, **changes: Any) -> None:
        self.info = evolve(self.info, **changes)
        self.consent.session = self.info


def open_session(cwd: Any = ".", **options: Any) -> Session:
    """Open a session in directory *cwd*; see `nanocoder.opening.open_ground` for the options.

    Raises: ConfigError, UsageError, PluginError (a policy that does not load).
    """
    return Session(open_ground(cwd, **options))
