"""`nanocoder call TOOL JSON`: one call through the same path that the model's calls take."""

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from nanocoder_schema import parse_json

from nanocoder.cli.command_host import CommandHost, stop
from nanocoder.cli.output import answers, complain
from nanocoder.errors import BadArguments, Cancelled, UnknownTool, UsageError
from nanocoder.session.session import Session

EXIT_CODES = {
    "": 0,
    "configuration": 2,
    "approval_needed": 3,
    "denied": 6,
    "read_denied": 6,
    "cancelled": 130,
}
"""By error class; whatever else goes wrong is 1."""
TABLE = (
    "no installed plugin has it; docs/reference/plugins.md lists the packages with their tools,"
    " and nanocoder plugins install NAME adds one"
)


def run(arguments: argparse.Namespace) -> int:
    """Run one call and print its result; a refusal by policy is exit code 6."""
    values = parsed(arguments.arguments)
    host = CommandHost.of(arguments)
    interactive = host.is_interactive and arguments.output == "text"
    with host.signals as signals:
        with host.session(output=arguments.output, interactive=interactive) as session:
            for event in session.call(arguments.tool, values):
                last = event
                if event.kind == "notice":
                    host.say(event.data["text"])
                if signals.number:  # it may have come just before the call began
                    stop(session, signals.number)
        _show(last.data, session, arguments)
    error_class = last.data["error_class"]
    if error_class == Cancelled.error_class and signals.number:
        return signals.exit_code
    return EXIT_CODES.get(error_class, 1)


def _show(data: Mapping[str, Any], session: Session, arguments: argparse.Namespace) -> None:
    if arguments.output == "json":
        answers().write(json.dumps(data) + "\n")
        return
    _print(data)
    is_unknown = data["error_class"] == UnknownTool.error_class
    if is_unknown and not session.plugins.why_missing(arguments.tool):
        complain(TABLE)


def parsed(text: str) -> dict[str, Any]:
    """Read the JSON object of arguments; raises UsageError."""
    try:
        values = parse_json(text) if text.strip() else {}
    except BadArguments as error:
        raise UsageError(f"the arguments are not JSON: {error}") from error
    if not isinstance(values, dict):
        raise UsageError(
            f"""the arguments must be a JSON object, as in '{{"path": "a.py"}}', not {text!r:.80}"""
        )
    return values


def _print(data: Any) -> None:
    if data["status"] != "ok":
        complain(data["output"])
        return
    from nanocoder_schema import for_terminal

    sys.stdout.write(for_terminal(data["output"]).rstrip("\n") + "\n")
