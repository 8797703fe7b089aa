"""The events of a session as entries for browsers: fragments of HTML, and safe text."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import asdict, define
from nanocoder import (
    ApprovalRequest,
    Event,
    Message,
    Question,
    SessionInfo,
    ToolCall,
    ToolResult,
    for_terminal,
    spoken,
)
from nanocoder_kit_files.redact import Redactor
from nanocoder_kit_ui.chat import use_chat_commands
from nanocoder_kit_ui.html import (
    block_html,
    call_html,
    calls_html,
    diff_html,
    is_diff,
    markdown_html,
    preview_html,
)

from nanocoder_ui_web.feed import Feed

SENTENCES: Final = {
    "notice": "text",
    "request.retrying": "message",
    "telemetry.failed": "message",
    "transcript.compacted": "message",
}
"""Events with one sentence for the user, and the key of the sentence."""
ENDS: Final = {
    "approval_needed": "Stopped: a call needed your approval and got no answer.",
    "denied": "A rule denied a call.",
    "budget": "Stopped: the budget is used up.",
    "interrupted": "Stopped.",
    "loop": "Stopped: the model repeated itself.",
    "refused": "Stopped: too many calls were refused.",
    "turn_limit": "Stopped: the limit of turns is reached.",
}


@define
class Turn:
    """One request to the model and the calls after it, for the plots; times are in seconds."""

    number: int
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    model_s: float = 0.0
    tools_s: float = 0.0


class Entries:
    """Turns the events of one session into entries of *feed*."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._calls: dict[str, ToolCall] = {}
        self._turn, self._since = Turn(0), 0.0
        self._passing, self._has_passing, self._begun = 0, False, 0
        self._typed: str | None = None
        self._steered: list[str] = []
        self._in_full = False
        self._handlers: Mapping[str, Callable[[Event], None]] = {
            "call.edited": self._on_edited,
            "call.progress": self._on_progress,
            "call.received": self._on_received,
            "call.returned": self._on_returned,
            "call.started": self._on_started,
            "message": self._on_message,
            "request.finished": self._on_reply,
            "request.progress": self._on_request_progress,
            "request.retrying": self._on_retry,
            "request.started": self._on_request,
            "run.finished": self._on_finished,
            "run.started": self._on_prompt,
            "run.steered": self._on_steered,
            "text": self._on_piece,
            "thinking": self._on_piece,
        }

    def show(self, event: Event, *, in_full: bool = False) -> None:
        """Show one event; with *in_full* the output of its call stays in sight."""
        self._in_full = in_full
        if event.kind != "request.progress":
            self.end_passing()
        if event.kind in SENTENCES:
            self.say(use_chat_commands(event.data[SENTENCES[event.kind]]), warns=True)
        if event.kind in self._handlers:
            self._handlers[event.kind](event)

    def end_run(self) -> None:
        """Remove the entries that the end of a run makes unnecessary."""
        self.end_passing()
        self.feed.end_pieces()

    def take_steered(self) -> str:
        """Remove and return the lines that were sent to the model while it worked."""
        sent = "\n\n".join(self._steered)
        self._steered.clear()
        return sent

    def say(self, text: str, *, warns: bool = False) -> None:
        """Show a sentence, as a warning if it *warns*."""
        self.feed.add("notice", {"text": for_terminal(text), "warns": warns})

    def show_typed(self, text: str) -> None:
        """Show a line that a person typed; its run does not show it again."""
        self.feed.forget(self._begun)
        self._typed = text
        self.feed.add("prompt", {"text": for_terminal(text)})

    def show_table(self, rows: Sequence[Sequence[str]]) -> None:
        """Show rows of cells."""
        self.feed.add("table", {"rows": [[for_terminal(cell) for cell in row] for row in rows]})

    def show_change(self, text: str) -> None:
        """Show a diff without the secrets in it, or a message beside it."""
        if is_diff(text):
            self.feed.add("block", {"title": "", "html": diff_html(Redactor().redact(text))})
        else:
            self.say(text)

    def show_output(self, title: str, text: str) -> None:
        """Show all that a call printed."""
        html = diff_html(text) if is_diff(text) else block_html(text)
        self.feed.add("block", {"title": for_terminal(title), "html": html})

    def show_passing(self, text: str) -> None:
        """Show the current activity, and replace the last one."""
        self.feed.forget(self._passing)
        self._passing = self.feed.add("passing", {"text": for_terminal(text)})
        self._has_passing = bool(text)

    def end_passing(self) -> None:
        """Remove the entry of `show_passing`."""
        if self._has_passing:
            self.show_passing("")

    def begin_prompt(self, text: str) -> None:
        """Put *text* into the empty prompt of each browser."""
        self._begun = self.feed.add("begin", {"text": text})

    def begin_again(self, messages: Sequence[Message]) -> None:
        """Remove all entries, and show *messages*."""
        self.feed.clear()
        self._turn, self._since = Turn(0), 0.0
        self.feed.add("cleared", {})
        self.show_messages(messages)

    def show_messages(self, messages: Sequence[Message]) -> None:
        """Show the earlier messages of a resumed session."""
        for index, message in enumerate(messages):
            typed, _added = spoken(message)
            if message.role == "user" and typed:
                self.feed.add("prompt", {"text": for_terminal(typed)})
            elif message.role == "assistant":
                self._show_answer(message.text)
                following = messages[index + 1] if index + 1 < len(messages) else None
                results = following.results if following is not None else ()
                for html in calls_html(message.calls, results):
                    self.feed.add("call", {"call": "", "html": html})

    def _show_answer(self, text: str) -> None:
        self.feed.end_pieces()
        if text.strip():
            self.feed.add("answer", {"html": markdown_html(text)})

    def _on_prompt(self, event: Event) -> None:
        prompt, typed = event.data["prompt"], self._typed
        self._typed = None
        if prompt != typed:  # a command has a prompt of its own
            self.feed.add("prompt", {"text": for_terminal(prompt)})

    def _on_steered(self, event: Event) -> None:
        self._steered.append(event.data["prompt"])
        self.feed.add("prompt", {"text": for_terminal(event.data["prompt"])})

    def _on_request_progress(self, event: Event) -> None:
        self.show_passing(event.data["text"])

    def _on_piece(self, event: Event) -> None:
        data = {"text": for_terminal(event.data["text"])}
        self.feed.add(event.kind, data, is_piece=True)

    def _on_message(self, event: Event) -> None:
        if event.data["role"] == "assistant":
            self._show_answer(event.data.get("text", ""))

    def _on_retry(self, _event: Event) -> None:
        self.feed.end_pieces()
        self.feed.add("discarded", {})

    def _on_request(self, event: Event) -> None:
        self._end_turn(event.at)
        self._turn, self._since = Turn(self._turn.number + 1), event.at

    def _on_reply(self, event: Event) -> None:
        usage, turn = event.data["usage"], self._turn
        turn.input_tokens = usage["input_tokens"]
        turn.cached_tokens = usage["cache_read_tokens"]
        turn.output_tokens = usage["output_tokens"]
        turn.model_s, self._since = event.at - self._since, event.at

    def _end_turn(self, at: float) -> None:
        """Show the turn that is over, which has the calls up to now."""
        if self._since:
            self._turn.tools_s = at - self._since
            self.feed.add("turn", asdict(self._turn))
        self._since = 0.0

    def _on_received(self, event: Event) -> None:
        data = event.data
        self._calls[event.call_id] = ToolCall(event.call_id, data["tool"], data["arguments"])

    def _on_edited(self, event: Event) -> None:
        call = self._calls[event.call_id]
        self._calls[event.call_id] = ToolCall(
            call.id, call.name, event.data["arguments"], edited=True
        )

    def _on_started(self, event: Event) -> None:
        html = call_html(self._calls[event.call_id], None, missing="running")
        self.feed.add("call", {"call": event.call_id, "html": html}, is_piece=True)

    def _on_progress(self, event: Event) -> None:
        data = {"call": event.call_id, "text": for_terminal(event.data["text"])}
        self.feed.add("progress", data, is_piece=True)

    def _on_returned(self, event: Event) -> None:
        call = self._calls.pop(event.call_id, None)
        if call is None:
            return
        data, is_error = event.data, event.data["status"] != "ok"
        result = ToolResult(
            data["output"],
            metadata=data["metadata"],
            is_error=is_error,
            error_class=data["error_class"],
            call_id=call.id,
        )
        html = call_html(call, result)
        self.feed.add("call", {"call": event.call_id, "html": html, "is_open": self._in_full})

    def _on_finished(self, event: Event) -> None:
        self._end_turn(event.at)
        self.feed.end_pieces()
        report = event.data
        error = report["error"]
        text = error["message"] if error else ENDS.get(report["stop_reason"], "")
        files = [for_terminal(path) for path in report["files_changed"]]
        # The effects of a command are not tracked.
        unchanged = not files and not report["untracked"]
        data = {"text": for_terminal(text), "files": files, "unchanged": unchanged}
        self.feed.add("finished", data)


def approval_entry(request: ApprovalRequest, session: SessionInfo) -> Mapping[str, Any]:
    """Return the question whether a call may run, with all that it would do."""
    call, arguments = request.call, dict(request.call.arguments)
    # Characters that no screen shows are written out in ASCII, where a person edits them.
    text = json.dumps(arguments, indent=2, ensure_ascii=True, default=str)
    path = next((value for value in arguments.values() if isinstance(value, str)), "")
    redactor = Redactor()
    # The arguments that a person may edit stay whole: a placeholder would be written.
    preview = redactor.redact(request.preview or text)
    return {
        "is_approval": True,
        "digest": request.digest,
        "tool": for_terminal(call.name),
        "html": preview_html(preview, path if request.preview else "x.json"),
        "arguments": text,
        "reason": for_terminal(redactor.redact(request.reason)),
        "facts": [for_terminal(fact) for fact in _facts(request, session)],
        "always": for_terminal(request.always) if may_be_exact(request) else "",
        "grants": [for_terminal(rule) for rule in request.grants],
        "is_for_tool": bool(request.grants) and may_be_exact(request),
    }


def may_be_exact(request: ApprovalRequest) -> bool:
    """Return True if a consent for the session may be wider or narrower than the rules offered.

    Rules for this exact call are narrower; a rule that is a tool's name matches any arguments.
    """
    return all("(" not in rule for rule in request.grants)


def _facts(request: ApprovalRequest, session: SessionInfo) -> Sequence[str]:
    """Return further facts about a call for its approval, each in a few words."""
    # The reason of a mode says the risk already: "bash is rated dangerous, so …".
    is_said = f" rated {request.risk}, " in request.reason
    facts = [*([] if is_said else [f"{request.risk} risk"]), f"in {request.cwd}"]
    facts += [f"effects: {', '.join(sorted(map(str, request.effects)))}"] if request.effects else []
    facts += [f"from {request.plugin}"] if request.plugin else []
    facts += [f"asked by the sub-agent {session.agent}"] if session.agent else []
    facts += [f"approved by {', '.join(request.approved_by)}"] if request.approved_by else []
    facts += [f"steps: {', '.join(request.steps)}"] if request.steps else []
    facts += [f"refused after {request.timeout_s:g} s"] if request.timeout_s else []
    return facts


def question_entry(question: Question) -> Mapping[str, Any]:
    """Return a tool's question, with its choices."""
    return {
        "is_approval": False,
        "text": for_terminal(question.text),
        "choices": [for_terminal(choice) for choice in question.choices],
        "custom": question.custom,
    }
