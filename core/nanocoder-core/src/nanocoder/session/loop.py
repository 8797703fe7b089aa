"""The loop: ask the model, run its calls, repeat, until the model has answered."""

import itertools
import threading
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

from attrs import Factory
from nanocoder_schema import NanocoderError, ToolError, counted, evolve, for_model, mutable

from nanocoder.call.executor import Executor
from nanocoder.cancel import Cancel, preload
from nanocoder.errors import Cancelled, ProviderError, StopRun
from nanocoder.provider import Request
from nanocoder.session.compaction import Compaction
from nanocoder.session.conversation import encode, spoken
from nanocoder.session.model_view import NAMED_FILE_CHARS, for_small_model
from nanocoder.session.reply import Reply, ask
from nanocoder.session.report import Report, usage_data
from nanocoder.session.runtime import Runtime
from nanocoder.session.sub_sessions import SubSessions
from nanocoder.tools.outcome import not_run
from nanocoder.values import Event, Message, StopReason, ToolCall

TIME_IS_OVER = "stopped at the limit of {:g} s (max_seconds, --max-seconds)"
LAST_WORDS = "{}. Answer now with what you have; no more tools will run."
GO_ON = "[your reply reached its output limit: go on exactly where it was cut]"
NO_ANSWER = "[you gave no answer: say what you did and found]"
MAX_CUT = 3
"""The most replies in a row that the output limit may cut."""
TURNS_LEFT = (10, 3)
"""The numbers of turns left at which the model is told so."""
MAX_CALLS = 128
"""The most calls of one reply that run; a model that sends more does not read results."""
FALLS_BACK = frozenset(
    {"rate_limit", "quota", "overloaded", "unavailable", "network", "context_overflow"}
)
"""The kinds of `ProviderError` after which another model is tried."""
SHORTENED_FOR = {"context_overflow": "overflow", "media": "refused"}
"""The reason of a compaction, by the kind of `ProviderError` before it."""
TOO_MANY = f"too many calls in one reply; only the first {MAX_CALLS} run"

Events = Generator[Event, None, Any]
Ending = Generator[Event, None, StopReason | None]


@mutable
class Run:
    """The run of one prompt: its state, and the loop until the model has answered.

    *spent* is the exhausted budget, *steering* has the lines typed by the person since the last
    request, *news* those of finished background work. *parts* are the parts of an answer that the
    output limit cut, and *cut* counts such replies in a row.
    """

    runtime: Runtime
    executor: Executor
    compaction: Compaction
    children: SubSessions
    report: Report
    cancel: Cancel
    spent: str = ""
    steering: list[str] = Factory(list)
    news: list[str] = Factory(list)
    parts: list[str] = Factory(list)
    cut: int = 0

    def work_on(self, message: Message) -> Events:
        """Send *message* to the model, and loop until it has answered; errors are reported."""
        self.runtime.return_to_preferred()
        conversation, info = self.runtime.conversation, self.runtime.info
        if conversation.open_calls:
            # The consumer abandoned the previous run in the middle.
            yield conversation.add_results(not_run(conversation.open_calls, "it was interrupted"))
        typed, _ = spoken(message)
        yield Event("run.started", {"prompt": typed})
        if info.profile == "small":
            text = for_small_model(message.text, typed, self._small_file, info.mode)
            message = evolve(message, text=text, typed=typed)
        yield conversation.add(message)
        clock = self._start_clock()
        try:
            self.report.end((yield from self._turns()))
            limit = self.runtime.spent_limit()
            if limit and self.report.stop_reason is StopReason.DONE:
                yield Event("notice", {"text": f"the answer is complete; more would be {limit}"})
        except Cancelled:
            self.report.end(StopReason.INTERRUPTED)
        # Both are NanocoderErrors, so they are caught before it.
        except StopRun as error:
            reason = next((each for each in StopReason if each == error.reason), StopReason.FAILED)
            self.report.end(self.report.stopped(reason, error.problem))
        except NanocoderError as error:
            self.report.fail(error)
        finally:
            clock.cancel()
        is_interrupted = self.report.stop_reason is StopReason.INTERRUPTED
        # The timer uses the same cancel: then the run's time is the exhausted budget.
        if is_interrupted and self.spent and self.cancel.reason == self.spent:
            self.report.end(self.report.stopped(StopReason.BUDGET, self.spent))
        yield Event("run.finished", self.report.data())

    def _start_clock(self) -> threading.Timer:
        """Start a timer that stops the run, with all its calls, at its time limit."""
        limit_s = self.runtime.config.core.max_seconds
        clock = threading.Timer(limit_s, self._stop, [TIME_IS_OVER.format(limit_s)])
        # A session dropped in the middle of a run must not prevent the end of the program.
        clock.daemon = True
        if limit_s:
            clock.start()
        return clock

    def _stop(self, reason: str) -> None:
        # Before the cancel, which wakes a thread that reads it.
        self.spent = reason
        self.cancel.set(reason)
        self.children.interrupt(reason)

    def _turns(self) -> Generator[Event, None, StopReason]:
        limit = self.runtime.max_turns
        for turn in itertools.count(1):
            turns_left = limit - turn + 1
            if limit and not turns_left:
                break
            if turn > 1 and turns_left in TURNS_LEFT:
                text = f"[{turns_left} turns are left: come to an end]"
                yield self.runtime.conversation.add(Message("user", text, typed=""))
            try:
                ended = yield from self._turn(turn)
            except StopRun as error:
                if error.reason != StopReason.LOOP:
                    raise
                return (yield from self._last_turn(StopReason.LOOP, error.problem))
            if ended is not None and not (ended is StopReason.DONE and self._has_more()):
                return ended
            if spent := self.runtime.spent_limit():
                return self.report.stopped(StopReason.BUDGET, spent)
        reason = f"stopped at the limit of {counted(limit, 'turn')} (max_turns, --max-turns)"
        return (yield from self._last_turn(StopReason.TURN_LIMIT, reason))

    def _has_more(self) -> bool:
        """Return True if typed lines or news continue the run after its answer.

        Without a person at a terminal, background work is awaited first: the end of the run may be
        the end of the session.
        """
        if not self.steering:
            self.news += self.runtime.news(None if self.runtime.info.interactive else self.cancel)
        return bool(self.steering or self.news)

    def _turn(self, turn: int) -> Ending:
        """Ask the model and run its calls; return the reason if the run ends with this turn."""
        conversation = self.runtime.conversation
        reply = yield from self._ask(turn)
        if words := self._words_to_go_on(reply):
            yield conversation.add(Message("user", words, typed=""))
            return None
        calls, ended = reply.finished.calls, self._ending(reply)
        if ended is None:
            ended = yield from self._answer(calls)
        elif calls:
            yield conversation.add_results(not_run(calls, "the run is over"))
        return ended

    def _ending(self, reply: Reply) -> StopReason | None:
        """Return the reason why the run ends with *reply*; None if its calls come next."""
        finished = reply.finished
        if reply.is_stuck:
            return self.report.stopped(StopReason.LOOP, "stopped: the reply repeated itself")
        if finished.refusal:
            return self.report.stopped(StopReason.REFUSED, finished.refusal)
        if self.cut == MAX_CUT:
            problem = f"stopped: the output limit cut {MAX_CUT} replies in a row"
            return self.report.stopped(StopReason.LOOP, problem)
        return None if finished.calls else StopReason.DONE

    def _words_to_go_on(self, reply: Reply) -> str:
        """Return the prompt that makes a model go on after an unfinished reply, else "".

        Raises: ProviderError for an empty answer, also to that prompt.
        """
        finished = reply.finished
        is_empty = not any(each.isprintable() and not each.isspace() for each in finished.text)
        self.cut = self.cut + 1 if finished.truncated else 0
        self.report.text = "".join([*self.parts, finished.text])
        if finished.calls or finished.refusal or reply.is_stuck or self.cut == MAX_CUT:
            self.parts.clear()
        elif finished.truncated and not is_empty:
            self.parts.append(finished.text)
            return GO_ON
        elif is_empty and not self.parts:
            prompt = self.runtime.conversation.messages[-2].text  # before the empty reply
            if prompt == NO_ANSWER or not self.report.tool_calls:
                raise ProviderError(f"{reply.model} gave an empty answer", kind="empty_response")
            return NO_ANSWER
        return ""

    def _last_turn(self, reason: StopReason, problem: str) -> Generator[Event, None, StopReason]:
        """Ask the model for a final answer without calls, because of *problem*."""
        conversation = self.runtime.conversation
        yield conversation.add(Message("user", LAST_WORDS.format(problem), typed=""))
        finished = (yield from self._ask(self.report.turns)).finished
        if finished.calls:
            yield conversation.add_results(not_run(finished.calls, problem))
        return self.report.stopped(reason, problem)

    def _answer(self, model_calls: Sequence[ToolCall]) -> Ending:
        """Run the calls of one turn and give the model a result for each.

        Returns the reason if the run ends here.
        """
        conversation, tool_list = self.runtime.conversation, self.runtime.tool_list
        if self.spent:
            spent = f"its budget is spent: {self.spent}"
            yield conversation.add_results(not_run(model_calls, spent))
            return self.report.stopped(StopReason.BUDGET, spent)
        calls = [tool_list.canonical(call) for call in model_calls]
        may, why = self._affordable(len(calls))
        ran = yield from self.executor.turn(calls[:may], self.cancel)
        results = [*ran, *not_run(calls[may:], why)]
        self.report.note(calls, results, self.runtime.tools)
        self.runtime.settle()
        rendered = tool_list.rendered(model_calls, results)
        # The journal has the results from `call.returned`, but not in the dialect's words.
        recorded = [call.id for call in calls[:may]] if tool_list.dialect is None else ()
        yield conversation.add_results(rendered, recorded)
        return StopReason.INTERRUPTED if self.cancel.is_set() else None

    def _affordable(self, calls: int) -> tuple[int, str]:
        """Return the number of *calls* calls that may run now, and the reason for the others.

        The model is told once about an exhausted budget, so that it can still answer.
        """
        usage, before = self.report.usage, len(self.report.tool_calls)
        max_calls, max_tokens = self.runtime.max_calls, self.runtime.max_tokens
        may = calls
        if max_tokens and usage.input_tokens + usage.output_tokens >= max_tokens:
            self.spent, may = f"{max_tokens:,} tokens", 0
        elif max_calls and before + calls > max_calls:
            self.spent, may = f"{max_calls:,} calls", max(0, max_calls - before)
        why = f"the budget of {self.spent} is spent; answer now with what you have"
        return min(MAX_CALLS, may), why if self.spent else TOO_MANY

    def _ask(self, turn: int) -> Generator[Event, None, Reply]:
        """Ask the model; after a failure, the next one that a plugin names."""
        failed: list[str] = []
        yield from self._add_steering()
        while True:
            try:
                return (yield from self._ask_model(turn))
            except ProviderError as error:
                # A reply that has begun stays with its model.
                latest = self.runtime.conversation.messages[-1]
                if error.kind not in FALLS_BACK or latest.role == "assistant":
                    raise
                failed.append(str(self.runtime.chosen))
                model = self.runtime.fall_back(failed)
                if not model:
                    raise
                text = f"{failed[-1]} could not answer ({error}); {model} answers instead"
                yield Event("notice", {"text": text})

    def _add_steering(self) -> Events:
        """Add the lines that the person typed since the last request, and the news."""
        # One by one: a line that another thread adds now is for the next request.
        texts = [self.steering.pop(0) for _ in range(len(self.steering))]
        for text in texts:
            yield Event("run.steered", {"prompt": text})
        if texts:
            yield self.runtime.conversation.add(Message("user", "\n\n".join(texts)))
        if news := [*self.news, *self.runtime.news()]:
            self.news.clear()
            yield self.runtime.conversation.add(Message("user", "\n".join(news), typed=""))

    def _ask_model(self, turn: int) -> Generator[Event, None, Reply]:
        """Ask the model once; the reply is added to the transcript before its calls run."""
        runtime, conversation = self.runtime, self.runtime.conversation
        runtime.open_provider()
        request, self.report.turns = runtime.next_request(conversation.messages), turn
        # Parts that plugins removed from the request count no tokens.
        if (yield from self.compaction.shorten("")):
            request = runtime.next_request(conversation.messages)
        yield from (Event("notice", {"text": text}) for text in runtime.info.notices.take())
        yield Event("request.started", {"turn": turn, "model": runtime.info.model})
        # While the model writes its first reply, a thread imports the modules of its calls.
        tools = runtime.tools.values() if turn == 1 else ()
        with preload(runtime.plugins.modules(tool for tool in tools if tool.always_listed)):
            reply = yield from self._reply(request)
        finished = reply.finished
        runtime.add_usage(finished.usage)
        self.compaction.usage = finished.usage
        self.report.text, self.report.truncated = finished.text, finished.truncated
        message = Message("assistant", finished.text, calls=finished.calls, native=finished.native)
        event = conversation.add(message)
        yield evolve(event, data={**event.data, "usage": encode(finished.usage)})
        data = {"usage": usage_data(finished.usage), "truncated": finished.truncated}
        yield Event("request.finished", data)
        return reply

    def _reply(self, request: Request) -> Generator[Event, None, Reply]:
        """Ask the model; a request that is too large is compacted and sent once more."""
        provider, model = self.runtime.open_provider(), self.runtime.info.model
        try:
            return (yield from ask(provider, request, model, self.cancel, self._keep))
        except ProviderError as error:
            reason = SHORTENED_FOR.get(error.kind)
            if reason is None or not (shorter := self.compaction.propose(reason)):
                raise
            yield Event("notice", {"text": f"{error}; asking again with less"})
            yield from self.compaction.replace(shorter, reason)
        request = self.runtime.next_request(self.runtime.conversation.messages)
        return (yield from ask(provider, request, model, self.cancel, self._keep))

    def _keep(self, text: str) -> Event:
        return self.runtime.conversation.add(Message("assistant", text))

    def _small_file(self, path: str) -> str:
        """Return a small file's text if every tool that reads a path may read it, else nothing."""
        # Only read-only tools whose calls need nothing but a path.
        reading = [tool for tool in self.runtime.tools.values() if tool.is_read_only]
        readers = [tool for tool in reading if [*tool.parameters.get("required", ())] == ["path"]]
        calls = [ToolCall("named-file", tool.name, {"path": path}) for tool in readers]
        judgements = map(self.runtime.approvals.judge, calls, readers)
        if readers and all(each.is_plain_allow for each in judgements):
            with suppress(ToolError):
                workspace = self.runtime.open_workspace()
                return for_model(workspace.read_text(path, max_bytes=NAMED_FILE_CHARS))
        return ""
