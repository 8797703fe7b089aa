"""What works on prompts: `nanocoder run` and `chat`."""

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

from nanocoder_console import answers, complain, print_line, prompt_of
from nanocoder_schema import for_terminal

from nanocoder.cli.host import Host
from nanocoder.errors import UsageError
from nanocoder.hooks.contributions import Display
from nanocoder.session.installed import find_offer
from nanocoder.session.report import Report
from nanocoder.session.session import Session
from nanocoder.tools.session_info import SessionInfo
from nanocoder.values import Event
from nanocoder.version import VERSION

MACHINE_FORMS = ("json", "jsonl")


def run(arguments: argparse.Namespace, host: Host) -> int:
    """Run one prompt and return the exit code of its outcome."""
    display: Display | None = None
    try:
        with host.signals:
            if arguments.set:
                host.restrict_to_set(arguments.set)
            screen = _screen(host, arguments.output)
            # The answers of a program are no part of the prompt, unless a person asks for that.
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
                display = _open_display(host, screen, session.info)
                _show(session, events, display, host)
    except Exception as error:
        if display is None:  # else it has shown the report
            print_failure(error, arguments.output)
        raise
    for report in host.plugins.reports:
        complain(str(report))
    if session.report.error and arguments.output == "text":
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
    """Run the prompt; where answers must fit a schema, through the plugin that checks them."""
    if schema is None:
        return session.run(prompt, typed=typed)
    offer = host.plugins.offered("resources", "answers")
    if offer is None:
        raise UsageError("--schema: no plugin checks answers; docs/reference/plugins.md has one")
    return offer[1].open(session.info, None).run(session, schema, prompt, typed)


def _show(session: Session, events: Iterable[Event], display: Display, host: Host) -> None:
    try:
        for event in events:
            host.obey_signal(session)
            display.show(event)
    except Exception as error:
        session.report.fail(error)
        raise
    finally:
        session.close()
        display.show(Event("session.finished", session.report.data()))
        display.close()


def print_failure(error: Exception, form: str) -> None:
    """Print the report of a run that could not begin, for the forms that a program reads."""
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
    """Return the plugin and the screen that show a session as *form*; None: the answer alone.

    Raises UsageError when nothing installed can show it so.
    """
    if form != "text":
        return find_offer(host.plugins, "screens", "output format", form)
    names = ("text", "plain") if host.is_interactive else ("plain",)
    return next(filter(None, (host.plugins.offered("screens", name) for name in names)), None)


def _open_display(host: Host, screen: tuple[str, Any] | None, info: SessionInfo) -> Display:
    """Return what shows the session: a plugin's screen, or else the answer alone."""
    if screen is None:
        return AnswerOnly()
    plugin, spec = screen
    display: Display = spec.open(info, host.plugins.settings(plugin))
    return display


class AnswerOnly:
    """The answer on stdout as it comes, where no plugin has a screen for text."""

    _ends_open = False

    def show(self, event: Event) -> None:
        """Write text, made safe for a terminal, and beside it what a person should know."""
        if event.kind == "text":
            sys.stdout.write(for_terminal(event.data["text"]))
            sys.stdout.flush()
            self._ends_open = not event.data["text"].endswith("\n")
        elif event.kind == "request.finished":
            self.close()
        elif event.kind == "notice":
            complain(event.data["text"])

    def close(self) -> None:
        """End the last line."""
        if self._ends_open:
            print_line()
        self._ends_open = False
