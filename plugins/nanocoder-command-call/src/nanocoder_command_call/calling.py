"""`nanocoder call`: one call down the path that the model's calls take."""

import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Any, Final

from nanocoder import Cancelled, Host, Session, UnknownTool, for_terminal, why_not_offered
from nanocoder_console import answers

from nanocoder_command_call.arguments import arguments_of

REFUSED: Final = dict.fromkeys(("denied", "read_denied"), 6)
EXIT_CODES: Final = {"": 0, "configuration": 2, "approval_needed": 3, "cancelled": 130, **REFUSED}
"""By error class; whatever else goes wrong is 1."""
UNKNOWN: Final = "no plugin that is installed or known has it; `nanocoder tools` lists the tools"


def run(arguments: Namespace, host: Host) -> int:
    """Run one call and print its result; a refusal by policy is exit code 6."""
    values = arguments_of(arguments.arguments)
    interactive = host.is_interactive and arguments.output == "text"
    with host.signals as signals:
        with host.session(output=arguments.output, interactive=interactive) as session:
            for last in session.call(arguments.tool, values):
                if last.kind == "notice":
                    host.say(last.data["text"])
                host.obey_signal(session)
        _show_result(last.data, session, arguments, host)
    for report in host.plugins.reports:
        host.say(str(report))
    if last.data["error_class"] == Cancelled.error_class and signals.number:
        return signals.exit_code
    return EXIT_CODES.get(last.data["error_class"], 1)


def _show_result(
    data: Mapping[str, Any], session: Session, arguments: Namespace, host: Host
) -> None:
    if arguments.output == "json":
        answers().write(json.dumps(data) + "\n")
        return
    if data["status"] == "ok":
        sys.stdout.write(for_terminal(data["output"]).rstrip("\n") + "\n")
        return
    if data["metadata"].get("error"):
        host.say(data["output"])
    else:  # what the tool itself has to say
        sys.stderr.write(for_terminal(data["output"]).rstrip("\n") + "\n")
    is_unknown = data["error_class"] == UnknownTool.error_class
    if is_unknown and not session.plugins.why_missing(arguments.tool):
        host.say(why_not_offered(session.plugins, "tools", arguments.tool) or UNKNOWN)
