"""The command `eval`: let a suite of tasks decide how good a model, a set or a prompt is."""

from typing import Final

from nanocoder import Argument, Command, Host, hookimpl

from nanocoder_command_eval.command import run

TEXT: Final = "run the checks in a folder, which are programs, without a question"


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the command."""
    arguments = (
        Argument("suite", 'a suite, or a folder with one; "compare" compares two results'),
        Argument("others", "for compare: two directories of results", count="*", metavar="DIR"),
        Argument("--results", "the directory for the results", metavar="DIR", default=""),
        Argument("--runs", "how often each task runs (default: 1)", kind="integer", metavar="N"),
        Argument("--only", "only the tasks with TEXT in their names", metavar="TEXT", default=""),
        Argument("--criteria", "end with 1 unless FILE is met", metavar="FILE", default=""),
        Argument(
            "--fail-if-worse", "for compare: end with 1 if the second solves less", kind="flag"
        ),
        Argument("--budget", "stop when all runs have cost $N", kind="number", metavar="N"),
        Argument(
            "--page",
            "for compare: write a page, too, or a picture (.svg)",
            metavar="FILE",
            default="",
        ),
        Argument("--runner", "what works on the tasks", default="threads", metavar="NAME"),
        Argument("--workers", "how many tasks are worked on at once", kind="integer", metavar="N"),
        Argument("--scheduler", "the runner's scheduler", metavar="ADDRESS", default=""),
        Argument("--yes", TEXT, kind="flag"),
        Argument("--force", "work on every task again", kind="flag"),
        Argument("--model", "the model, as provider/model", metavar="P/M", completes="models"),
        Argument("--mode", "the mode (default: auto)", choices=("plan", "ask", "edits", "auto")),
        Argument("--set", "use the plugins of one set only", metavar="NAME", default=""),
        Argument("--cwd", "the directory (default: this one)", metavar="DIR"),
        Argument("--output", "output format", default="text", choices=("text", "json")),
    )
    return [Command("eval", "measure how many tasks of a suite are solved", run, arguments, True)]
