"""Events become measurements: tokens, money, durations, approvals."""

from typing import Final

from nanocoder import Event, SessionInfo, count_tokens
from opentelemetry.metrics import Meter

from nanocoder_telemetry_otel import conventions as names
from nanocoder_telemetry_otel.spans import model_attributes
from nanocoder_telemetry_otel.tool_costs import ToolCosts

ANSWERS: Final = frozenset({"call.approved", "call.edited", "call.denied"})


class Measurements:
    """Records tokens, costs and durations of events, each with its tool, plugin or model."""

    def __init__(self, meter: Meter) -> None:
        self._tokens = meter.create_histogram(
            names.USAGE_OF_TOKENS, "{token}", "Tokens of a request"
        )
        self._requests = meter.create_histogram(
            names.OPERATION_DURATION, "s", "Duration of a request to the model"
        )
        self._calls = meter.create_histogram(
            names.TOOL_DURATION, "s", "Duration of a call, with waiting for a person"
        )
        self._outputs = meter.create_counter(
            names.TOOL_OUTPUT_TOKENS, "{token}", "About how many tokens the results of a tool have"
        )
        self._cost = meter.create_counter(names.COST_TOTAL, "{USD}", "Money that requests cost")
        self._tool_cost = meter.create_counter(
            names.TOOL_COST, "{USD}", "About how much of the money went to the calls of a tool"
        )
        self._approvals = meter.create_counter(
            names.APPROVALS, "{approval}", "Questions to a person, by their outcome"
        )
        self._dropped = meter.create_counter(
            names.DROPPED, "{record}", "Events and records that were not sent"
        )
        self._dropped_so_far = 0
        self._requested: dict[str, tuple[str, float]] = {}
        self._tools: dict[tuple[str, str], tuple[str, str]] = {}
        self._asked: set[tuple[str, str]] = set()
        self._costs = ToolCosts()

    def handle(self, event: Event, session: SessionInfo) -> None:
        """Record the measurements of *event*."""
        data = event.data
        if event.kind == "request.started":
            self._requested[session.id] = data["model"], event.at
        elif event.kind == "request.finished":
            self._measure_request(event, session)
        elif event.kind == "run.finished":
            self._measure_cost(data.get("cost"), session)
        elif event.kind == "call.normalised":
            self._tools[session.id, event.call_id] = data["tool"], data["plugin"]
            if not data.get("parent"):
                self._costs.add_call(session.id, (data["tool"], data["plugin"]))
        elif event.kind == "call.returned":
            self._measure_call(event, session)
        elif event.kind == "call.approval_requested":
            self._asked.add((session.id, event.call_id))
        elif event.kind in ANSWERS and (session.id, event.call_id) in self._asked:
            self._asked.remove((session.id, event.call_id))
            self._approvals.add(1, {names.OUTCOME: event.kind.partition(".")[2]})
        elif event.kind == "session.finished":
            self._requested.pop(session.id, None)

    def set_dropped(self, count: int) -> None:
        """Record that *count* events and records were lost so far."""
        if count > self._dropped_so_far:
            self._dropped.add(count - self._dropped_so_far)
            self._dropped_so_far = count

    def _measure_request(self, event: Event, session: SessionInfo) -> None:
        model, started = self._requested.pop(session.id)
        attributes = {names.OPERATION: names.CHAT, **model_attributes(model)}
        usage = event.data["usage"]
        for kind in ("input", "output"):
            self._tokens.record(usage[f"{kind}_tokens"], {**attributes, names.TYPE_OF_TOKENS: kind})
        self._requests.record(event.at - started, attributes)
        self._costs.add_request(session.id, usage["input_tokens"] + usage["output_tokens"])

    def _measure_cost(self, cost: float | None, session: SessionInfo) -> None:
        attributes = model_attributes(session.model)
        if cost:
            self._cost.add(cost, attributes)
        for (tool, plugin), part in self._costs.end(session.id, cost):
            self._tool_cost.add(part, {**attributes, names.TOOL_NAME: tool, names.PLUGIN: plugin})

    def _measure_call(self, event: Event, session: SessionInfo) -> None:
        data = event.data
        tool, plugin = self._tools.pop((session.id, event.call_id), (names.UNKNOWN, ""))
        attributes = {names.TOOL_NAME: tool, names.PLUGIN: plugin}
        self._outputs.add(count_tokens(data["output"]), attributes)
        attributes[names.STATUS] = data["status"]
        if data["error_class"]:
            attributes[names.ERROR_TYPE] = data["error_class"]
        self._calls.record(data["duration_ms"] / 1_000, attributes)
