"""The commands that open a session: `nanocoder run`, `chat`, `call`, and `policy explain`."""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from nanocoder_console import Signals, answers, complain, print_json, print_line, prompt_of
from nanocoder_schema import BadArguments, UsageError, evolve, for_terminal, parse_json

from nanocoder.cli.host import MACHINE_FORMS, Host, stop
from nanocoder.errors import Cancelled, UnknownTool
from nanocoder.hooks.interfaces import Display
from nanocoder.session.report import Report
from nanocoder.session.session import Session
from nanocoder.session.setup import find_offer, why_not_offered
from nanocoder.tools.outcome import verdict_data
from nanocoder.values import Event, ToolCall
from nanocoder.version import VERSION

REFUSED = dict.fromkeys(("denied", "read_denied"), 6)
EXIT_CODES = {"": 0, "configuration": 2, "approval_needed": 3, "cancelled": 130, **REFUSED}
"""Exit codes by error class; any other failure is 1."""
AN_OBJECT = """a JSON object, as in '{"path": "a.py"}'"""
UNKNOWN = "no plugin that is installed or known has it; `nanocoder tools` lists the tools"


def run(arguments: argparse.Namespace, host: Host) -> int:
    """Run one prompt and return the exit code of its outcome."""
    display: Display | None = None
    try:
        with host.signals:
            screen = _screen(host, arguments.output)
            # A program's answers on standard input are part of the prompt only on request.
            is_taken = arguments.stdin is None and screen is not None and screen[1].reads_stdin
            wait = False if is_taken or arguments.schema == "-" else arguments.stdin
            prompt, typed = prompt_of(arguments.prompt, wait=wait)
            with host.session(
                output=arguments.output,
                interactive=host.is_interactive and arguments.output == "text",
                resume=arguments.resume or "",
                dry_run=arguments.dry_run,
            ) as session:
                events = _events(host, session, arguments.schema, prompt, typed)
                display = AnswerOnly()
                if screen is not None:
                    display = screen[1].open(session.info, host.plugins.settings(screen[0]))
                _show(session, events, display, host.signals)
    except Exception as error:
        if display is None:  # a screen has shown the report
            print_failure(error, arguments.output)
        raise
    host.tell_reports()
    if session.report.error and arguments.output == "text":
        # JSON output has it in the report.
        complain(session.report.error["message"])
    return session.report.exit_code


def chat(arguments: argparse.Namespace, host: Host) -> int:
    """Start the conversation that a plugin offers."""
    if arguments.version:
        print_line(f"nanocoder {VERSION}")
        return 0
    resume = arguments.resume and host.sessions.find(arguments.resume, cwd=host.cwd)
    return host.chat(resume, " ".join(getattr(arguments, "prompt", ())))


def _events(host: Host, session: Session, schema: Any, prompt: str, typed: str | None) -> Any:
    """Run the prompt; with a schema, through the plugin that validates answers."""
    if schema is None:
        return session.run(prompt, typed=typed)
    _, checker = find_offer(host.plugins, "resources", "plugin for --schema with", "answers")
    return checker.open(session.info, None).run(session, schema, prompt, typed)


def _show(session: Session, events: Iterable[Event], display: Display, signals: Signals) -> None:
    try:
        for event in events:
            if signals.number:  # it may have arrived just before the run began
                stop(session, signals.number)
            display.show(event)
    except Exception as error:
        session.report.fail(error)
        raise
    finally:
        session.close()
        display.show(Event("session.finished", session.report.data()))
        display.close()


def print_failure(error: Exception, form: str) -> None:
    """Print the report of a run that could not begin, in a JSON form of output."""
    if form not in MACHINE_FORMS:
        return
    report = Report()
    report.fail(error)
    data = report.data()
    if form == "jsonl":
        last = Event("session.finished")
        data = {"type": last.kind, "at": last.at, "call_id": "", **data}
    answers().write(json.dumps(data) + "\n")


def _screen(host: Host, form: str) -> tuple[str, Any] | None:
    """Return the plugin and the screen for *form*; None for the answer alone.

    Raises: UsageError if no installed plugin has such a screen.
    """
    if form != "text":
        return find_offer(host.plugins, "screens", "output format", form)
    names = ("text", "plain") if host.is_interactive else ("plain",)
    return next(filter(None, (host.plugins.offered("screens", name) for name in names)), None)


class AnswerOnly:
    """A screen that prints the answer on stdout, used if no plugin has one for text."""

    def show(self, event: Event) -> None:
        """Print the answer, or a notice for the person."""
        text = event.data.get("message") or event.data.get("text", "")
        if event.kind == "run.finished" and text:
            print_line(for_terminal(text))
        elif event.kind in ("notice", "request.retrying"):
            complain(text)

    def close(self) -> None:
        """Do nothing: everything is printed."""


def call(arguments: argparse.Namespace, host: Host) -> int:
    """Run one call and print its result; a refusal by policy is exit code 6."""
    values = arguments_of(arguments.arguments)
    interactive = host.is_interactive and arguments.output == "text"
    with host.signals as signals:
        with host.session(output=arguments.output, interactive=interactive) as session:
            for last in session.call(arguments.tool, values):
                if last.kind == "notice":
                    host.say(last.data["text"])
                if signals.number:  # it may have arrived just before the call began
                    stop(session, signals.number)
        _show_result(last.data, session, arguments)
    host.tell_reports()
    if last.data["error_class"] == Cancelled.error_class and signals.number:
        return signals.exit_code
    return EXIT_CODES.get(last.data["error_class"], 1)


def explain(arguments: argparse.Namespace, host: Host) -> int:
    """Print the verdict on a call, which does not run; a plugin shows each vote."""
    values = arguments_of(arguments.arguments)
    with host.session(persist=False) as session:
        tool = session.plugins.tool(arguments.tool).real()
        tool.signature.check(values)
        call = ToolCall("explained", tool.name, values)
        as_if = evolve(session.info, agent=arguments.agent, is_trial=True)
        verdict = session.approvals.judge(call, tool, as_if).verdict
    if arguments.output == "json":
        print_json({"tool": call.name, **verdict_data(verdict)})
    else:
        print_line(f"{verdict.decision}: {verdict.reason} ({verdict.plugin or 'core'})")
    return 0


def _show_result(data: Mapping[str, Any], session: Session, arguments: argparse.Namespace) -> None:
    if arguments.output == "json":
        answers().write(json.dumps(data) + "\n")
        return
    if data["status"] == "ok":
        sys.stdout.write(for_terminal(data["output"]).rstrip("\n") + "\n")
        return
    if data["metadata"].get("error"):
        complain(data["output"])
    else:  # the tool's own output
        sys.stderr.write(for_terminal(data["output"]).rstrip("\n") + "\n")
    is_unknown = data["error_class"] == UnknownTool.error_class
    if is_unknown and not session.plugins.why_missing(arguments.tool):
        complain(why_not_offered(session.plugins, "tools", arguments.tool) or UNKNOWN)


def arguments_of(text: str) -> dict[str, Any]:
    """Parse the JSON object of arguments; raises UsageError."""
    try:
        values = parse_json(text)
    except BadArguments as error:
        problem = str(error).removeprefix("invalid JSON: ")
        raise UsageError(f"the arguments are not JSON: {problem}; write {AN_OBJECT}") from error
    if not isinstance(values, dict):
        raise UsageError(f"the arguments must be {AN_OBJECT}, not {text!r:.80}")
    return values
