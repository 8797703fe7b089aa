"""The command `batch`: run the tasks of a file, each in its own workspace, and store results."""

from typing import Final

from nanocoder import Argument, Command, Host, hookimpl

from nanocoder_command_batch.command import run

TEXT: Final = "run the checks in the file, which are commands, and its modes without a question"


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the command."""
    arguments = (
        Argument(
            "tasks",
            'a file with one task a line, as JSON; "-" reads standard input',
            metavar="TASKS",
        ),
        Argument("--results", "the directory for the results; else TASKS-results", metavar="DIR"),
        Argument("--runner", "what works on the tasks", default="threads", metavar="NAME"),
        Argument("--workers", "how many tasks are worked on at once", kind="integer", metavar="N"),
        Argument(
            "--scheduler",
            "the address of the runner's scheduler, such as tcp://host:8786",
            metavar="ADDRESS",
            default="",
        ),
        Argument(
            "--note",
            "a TOML file with incident, owner and expected_end, for the summary",
            metavar="FILE",
        ),
        Argument("--force", "work on every task again", kind="flag", rival_group="again"),
        Argument("--retry-failed", "work on failed tasks again", kind="flag", rival_group="again"),
        Argument("--yes", TEXT, kind="flag"),
        Argument("--model", "the model of tasks without one", metavar="P/M", completes="models"),
        Argument(
            "--mode", "the mode of tasks without one", choices=("plan", "ask", "edits", "auto")
        ),
        Argument("--set", "the plugin set of tasks without one", metavar="NAME", default=""),
        Argument("--cwd", "the directory of tasks without one", metavar="DIR"),
    )
    return [Command("batch", "work on many tasks from a file", run, arguments, outside_calls=True)]
