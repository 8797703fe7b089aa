"""Events become spans: a session has runs, a run has turns, a turn has a request and calls."""

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from attrs import define, field
from nanocoder import Event, SessionInfo, clip
from nanocoder_kit_files.redact import Redactor, redact_value
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from nanocoder_telemetry_otel import conventions as names

CONTENT_CHARS: Final = 8_000
"""Limit of a prompt, an answer, an argument or a result in a span, if it is included."""
NANOSECONDS: Final = 1_000_000_000
PARENT_VARIABLE: Final = "TRACEPARENT"
"""The variable in which a parent program passes the parent span of the session."""
REDACTOR: Final = Redactor()


@define
class _Call:
    """The open spans of one call, and when the last of its events came."""

    span: Span
    at: float
    question: Span | None = None


@define
class _Session:
    """The open spans of one session."""

    span: Span
    run: Span | None = None
    turn: Span | None = None
    request: Span | None = None
    calls: dict[str, _Call] = field(factory=dict)

    @property
    def innermost(self) -> Span:
        """The span that a call of the session belongs to."""
        return self.turn or self.run or self.span


class Spans:
    """Opens and ends the spans of all sessions of the process, with the times of their events.

    *has_content* tells whether prompts, answers, arguments and results become attributes.
    """

    def __init__(self, tracer: Tracer, has_content: bool) -> None:  # noqa: FBT001 - a setting
        self._tracer = tracer
        self._has_content = has_content
        self._sessions: dict[str, _Session] = {}

    def handle(self, event: Event, session: SessionInfo) -> None:
        """Open or end spans for *event*."""
        if event.kind == "session.started":
            self._sessions[session.id] = _Session(self._session_span(event, session))
            return
        state = self._sessions.get(session.id)
        if state is None:
            return
        group, _, action = event.kind.partition(".")
        if group == "call":
            self._handle_call(action, event, state)
        elif group == "request":
            self._handle_request(action, event, state)
        elif group == "run":
            self._handle_run(action, event, state, session)
        elif event.kind == "transcript.compacted":
            data = {key: event.data[key] for key in ("reason", "before_tokens", "after_tokens")}
            state.innermost.add_event("transcript.compacted", data, _time(event.at))
        elif event.kind == "session.finished":
            self._end(self._sessions.pop(session.id), event)

    def _session_span(self, event: Event, session: SessionInfo) -> Span:
        parent = self._sessions.get(session.parent)
        call = parent.calls.get(session.parent_call) if parent else None
        if parent is not None:
            context = _inside(call.span if call else parent.innermost)
        else:
            carrier = {"traceparent": os.environ.get(PARENT_VARIABLE, "")}
            context = TraceContextTextMapPropagator().extract(carrier)
        agent = session.agent or "nanocoder"
        attributes = {
            names.AGENT_NAME: agent,
            names.CONVERSATION_ID: session.id,
            names.MODE: str(session.mode),
        }
        return self._open(f"session {agent}", context, event.at, attributes)

    def _handle_run(self, action: str, event: Event, state: _Session, session: SessionInfo) -> None:
        if action == "started":
            agent = session.agent or "nanocoder"
            attributes = {
                names.OPERATION: names.INVOKE_AGENT,
                names.AGENT_NAME: agent,
                names.CONVERSATION_ID: session.id,
                **self._message(names.INPUT_MESSAGES, "user", event.data["prompt"]),
            }
            name = f"{names.INVOKE_AGENT} {agent}"
            state.run = self._open(name, _inside(state.span), event.at, attributes)
        elif action == "finished" and state.run is not None:
            report = event.data
            reason = str(report["stop_reason"])
            state.run.set_attributes(_usage(report["usage"]))
            state.run.set_attribute(names.STOP_REASON, reason)
            state.run.set_attributes(
                self._message(names.OUTPUT_MESSAGES, "assistant", report["text"])
            )
            if report.get("cost") is not None:
                state.run.set_attribute(names.COST, report["cost"])
            if report.get("error"):
                _fail(state.run, report["error"]["class"])
            _end_spans(event.at, state.request, state.turn, state.run)
            state.request = state.turn = state.run = None

    def _handle_request(self, action: str, event: Event, state: _Session) -> None:
        if action == "started":
            _end_spans(event.at, state.request, state.turn)
            turn, model = event.data["turn"], event.data["model"]
            around = _inside(state.run or state.span)
            state.turn = self._open(f"turn {turn}", around, event.at, {names.TURN: turn})
            attributes = {names.OPERATION: names.CHAT, **model_attributes(model)}
            name = f"{names.CHAT} {attributes[names.REQUEST_MODEL]}"
            inside = _inside(state.turn)
            state.request = self._open(name, inside, event.at, attributes, SpanKind.CLIENT)
        elif action == "retrying" and state.request is not None:
            data = {key: event.data[key] for key in ("attempt", "of", "delay_s")}
            status = event.data.get("status")
            data |= {"http.response.status_code": status} if status else {}
            state.request.add_event("retrying", data, _time(event.at))
        elif action == "finished" and state.request is not None:
            state.request.set_attributes(_usage(event.data["usage"]))
            _end_spans(event.at, state.request)
            state.request = None

    def _handle_call(self, action: str, event: Event, state: _Session) -> None:
        data = event.data
        if action == "received":
            parent = state.calls.get(data.get("parent", ""))
            around = _inside(parent.span if parent else state.innermost)
            attributes = {
                names.OPERATION: names.EXECUTE_TOOL,
                names.TOOL_NAME: names.UNKNOWN,
                names.TOOL_CALL_ID: event.call_id,
                **self._content(names.TOOL_ARGUMENTS, data["arguments"]),
            }
            name = f"{names.EXECUTE_TOOL} {names.UNKNOWN}"
            span = self._open(name, around, event.at, attributes)
            state.calls[event.call_id] = _Call(span, event.at)
            return
        call = state.calls.get(event.call_id)
        if call is None:
            return
        if action == "normalised":
            call.span.update_name(f"{names.EXECUTE_TOOL} {data['tool']}")
            call.span.set_attribute(names.TOOL_NAME, data["tool"])
            call.span.set_attribute(names.PLUGIN, data["plugin"])
        elif action == "decided":
            self._policy_span(call, event)
        elif action in {"approval_requested", "asked"}:
            is_approval = action == "approval_requested"
            name = "approval" if is_approval else "question"
            attributes = {names.RISK: str(data["risk"])} if is_approval else {}
            call.question = self._open(name, _inside(call.span), event.at, attributes)
        elif action in {"approved", "edited", "denied", "answered"} and call.question is not None:
            call.question.set_attribute(names.OUTCOME, action)
            _end_spans(event.at, call.question)
            call.question = None
        if action in {"denied", "failed"}:
            call.span.add_event(action, {names.STAGE: data["stage"]}, _time(event.at))
        if action == "returned":
            self._end_call(state.calls.pop(event.call_id), event)
        call.at = event.at

    def _policy_span(self, call: _Call, event: Event) -> None:
        """Add the span of the policies: from the event before until they had all judged."""
        data = event.data
        attributes = {
            names.DECISION: str(data["decision"]),
            names.RULE: data.get("rule") or "",
            names.POLICY_PLUGIN: data.get("plugin") or "",
            names.SANDBOX: data.get("sandbox") or "",
            **self._content(names.REASON, data.get("reason", "")),
        }
        attributes = {name: value for name, value in attributes.items() if value}
        span = self._open("policy", _inside(call.span), call.at, attributes)
        _end_spans(event.at, span)

    def _end_call(self, call: _Call, event: Event) -> None:
        data = event.data
        call.span.set_attribute(names.STATUS, data["status"])
        call.span.set_attributes(self._content(names.TOOL_RESULT, data["output"]))
        if data["error_class"]:
            _fail(call.span, data["error_class"])
        _end_spans(event.at, call.question, call.span)

    def _end(self, state: _Session, event: Event) -> None:
        for call in state.calls.values():
            _end_spans(event.at, call.question, call.span)
        _end_spans(event.at, state.request, state.turn, state.run, state.span)

    def _open(
        self,
        name: str,
        context: Context,
        at: float,
        attributes: Mapping[str, Any],
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        return self._tracer.start_span(name, context, kind, attributes, start_time=_time(at))

    def _content(self, name: str, value: Any) -> dict[str, str]:
        """Return *value* as an attribute without secrets, or {} if content is not sent."""
        if not self._has_content or not value:
            return {}
        safe = redact_value(value, REDACTOR)
        text = safe if isinstance(safe, str) else json.dumps(safe, ensure_ascii=False, default=str)
        return {name: clip(text, head=CONTENT_CHARS, tail=0)}

    def _message(self, name: str, role: str, text: str) -> dict[str, str]:
        """Return one message in the form of the conventions, as an attribute."""
        content = self._content(name, text)
        if not content:
            return {}
        parts = [{"type": "text", "content": content[name]}]
        return {name: json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)}


def model_attributes(model: str) -> dict[str, str]:
    """Return the attributes of a model that is written provider/model."""
    provider, _, name = model.partition("/")
    return {names.PROVIDER: provider, names.REQUEST_MODEL: name or provider}


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    return {
        names.INPUT_TOKENS: usage["input_tokens"],
        names.OUTPUT_TOKENS: usage["output_tokens"],
        names.CACHE_READ_TOKENS: usage["cache_read_tokens"],
        names.CACHE_WRITE_TOKENS: usage["cache_write_tokens"],
    }


def _inside(span: Span) -> Context:
    return trace.set_span_in_context(span, Context())


def _fail(span: Span, error_class: str) -> None:
    span.set_attribute(names.ERROR_TYPE, error_class)
    span.set_status(StatusCode.ERROR)


def _end_spans(at: float, *spans: Span | None) -> None:
    for span in spans:
        if span is not None:
            span.end(_time(at))


def _time(at: float) -> int:
    """Return seconds since the epoch in nanoseconds."""
    return int(at * NANOSECONDS)
