"""Answers as JSON that fits a schema: asked for, checked, and asked for once more."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from attrs import evolve
from nanocoder import BadArguments, Event, Session, StopReason, ToolError, UsageError, parse_json

PROBLEM_CHARS: Final = 500
CHECK_S: Final = 5.0
PROGRAM: Final = Path(__file__).with_name("schema_check.py")
PROBES: Final[tuple[object, ...]] = ({}, [], "", 0)
TOO_SLOW: Final = (
    f"--schema: checking against it takes more than {CHECK_S:g} s: too many alternatives refer to"
    " each other; use fewer"
)
FAILED: Final = "--schema: checking against it failed: perhaps it refers to itself without end"
WISH: Final = (
    "Answer at the end with JSON alone, without any other word, that fits this JSON Schema:"
)
AGAIN: Final = "Your answer does not fit the JSON Schema. {} Answer again, with the JSON alone."
MISFIT: Final = "the answer does not fit the schema, also when asked again: {}"
FENCE: Final = "```"
DIALECTS: Final = frozenset(
    (
        *(f"http://json-schema.org/draft-0{number}/schema" for number in (4, 6, 7)),
        *(f"https://json-schema.org/draft/{year}/schema" for year in ("2019-09", "2020-12")),
    )
)


class Answers:
    """Runs prompts whose answers have to fit a schema."""

    def run(self, session: Session, schema: str, prompt: str, typed: str | None) -> Iterator[Event]:
        """Run *prompt* like `Session.run`; the report's `answer` is the parsed answer.

        *schema* is a file, JSON, or "-" for standard input. The only text is a valid answer.
        Raises: UsageError for an unusable schema, before the first request.
        """
        check = Check(load_schema(schema))
        session.expect_answer(check.schema)
        text = f"{prompt}\n\n{WISH}\n{json.dumps(check.schema, ensure_ascii=False)}"
        events = session.run(text, typed=prompt if typed is None else typed)
        return self._checked(session, check, events)

    def _checked(
        self, session: Session, check: "Check", events: Iterator[Event]
    ) -> Iterator[Event]:
        problem, is_second = "", False
        for event in events:
            if event.kind == "text":
                continue
            if _is_answer(event):
                text = event.data.get("text", "")
                session.report.answer, problem = check.problem_of(text)
                if not problem:
                    yield Event("text", {"text": text})
                elif not is_second:
                    session.steer(AGAIN.format(problem))
                is_second = True
            if event.kind == "run.finished":
                yield _finished(session, event, problem)
            else:
                yield event


class Check:
    """Validates answers against one JSON Schema; external references are not followed."""

    def __init__(self, schema: dict[str, Any]) -> None:
        """Validate *schema*; raises UsageError if it is invalid or not supported."""
        self.schema = schema
        if unknown := sorted(set(_dialects(schema)) - DIALECTS):
            # The library would fetch it, from the network or from a file.
            raise UsageError(
                f"--schema: {unknown[0][:PROBLEM_CHARS]!r} is no version of JSON Schema that is"
                f" known here; leave $schema out, or write one of: {', '.join(sorted(DIALECTS))}"
            )
        # A schema whose references refer to each other for ever shows it with the first value.
        self._problems([json.dumps(value) for value in PROBES])

    def problem_of(self, text: str) -> tuple[Any, str]:
        """Return the answer as data, and its problem, or ""."""
        text = _without_fence(text)
        try:
            answer = parse_json(text)
        except BadArguments as error:
            return None, f"It is not JSON: {str(error)[:PROBLEM_CHARS]}."
        try:
            (problem,) = self._problems([text])
        except UsageError as error:  # nested so deep that the check takes too long
            problem = f"It cannot be checked ({error})."
        return (None, problem) if problem else (answer, "")

    def _problems(self, answers: Sequence[str]) -> Sequence[str]:
        """Return the problem of each answer, or ""; raises UsageError."""
        try:
            process = subprocess.run(
                [sys.executable, "-I", "-S", str(PROGRAM), _folder_of_library()],
                input=json.dumps({"schema": self.schema, "answers": answers}).encode(),
                env={"LANG": "C.UTF-8"},
                capture_output=True,
                timeout=CHECK_S,
                check=True,
            )
        except (subprocess.SubprocessError, OSError) as error:
            is_slow = isinstance(error, subprocess.TimeoutExpired)
            raise UsageError(TOO_SLOW if is_slow else FAILED) from error
        checked = json.loads(process.stdout)
        if checked["refusal"]:
            raise UsageError(
                f"--schema: this is no JSON Schema that can be used: {checked['refusal']}"
            )
        return list(checked["problems"])


def load_schema(word: str) -> dict[str, Any]:
    """Return the schema that *word* is or names; raises UsageError."""
    if not word.strip():
        raise UsageError(
            "--schema is empty; give a file, the schema itself, or - for standard input"
        )
    if word.lstrip().startswith("{"):
        text = word
    elif word == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        try:
            text = Path(word).read_text("utf-8", "replace")
        except OSError as error:
            raise UsageError(f"--schema: {word} cannot be read: {error.strerror}") from error
    try:
        schema = parse_json(text)
    except BadArguments as error:
        raise UsageError(f"--schema: {word[:40]} is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError("--schema: a JSON Schema is a JSON object")
    return schema


def _dialects(value: Any) -> Iterator[str]:
    """Yield each `$schema` of a schema and of the schemas in it, without a final "#"."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
            if isinstance(dialect := value.get("$schema"), str):
                yield dialect.removesuffix("#")
        elif isinstance(value, list):
            waiting += value


def _folder_of_library() -> str:
    spec = find_spec("jsonschema_rs")
    return str(Path(spec.origin).parent.parent) if spec and spec.origin else ""


def _is_answer(event: Event) -> bool:
    data = event.data
    return event.kind == "message" and data["role"] == "assistant" and not data.get("calls")


def _finished(session: Session, event: Event, problem: str) -> Event:
    """Return the event of the end, of a failed run where the answer does not fit."""
    if problem and session.report.stop_reason is StopReason.DONE:
        session.report.fail(ToolError(MISFIT.format(problem), error_class="answer_does_not_fit"))
        if session.journal is not None:  # which has the end as it was before the answer was judged
            session.journal.append("run.finished", session.report.data())
    return evolve(event, data=session.report.data())


def _without_fence(text: str) -> str:
    """Return the JSON in a block of Markdown, which models like to put around it."""
    text = text.strip()
    if text.startswith(FENCE) and text.endswith(FENCE):
        return text.removesuffix(FENCE).partition("\n")[2]
    return text
