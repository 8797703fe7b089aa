"""The commands `rollout`: a new plugin set in stages, promoted or rolled back by figures."""

from typing import Final

from nanocoder import Argument, Command, Host, hookimpl

from nanocoder_command_rollout.commands import ACTIONS

FILE: Final = Argument(
    "--file", "the state of the rollout (default: rollout.json)", metavar="FILE", default=""
)
DIRECTORY: Final = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
REASON: Final = Argument("--reason", "why, for the history", metavar="TEXT", default="")


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the commands of one rollout."""
    return [
        _command(
            "start",
            "give a new set to some people",
            Argument("set", "the new set", metavar="SET"),
            Argument("--from", "the set of everybody else", metavar="SET", target="stable"),
            Argument("--stages", "percentages of people", metavar="N,N,…", default="5,25,100"),
        ),
        _command(
            "set",
            "print the set for one person or machine",
            Argument("--key", "whose (default: user and machine)", metavar="TEXT", default=""),
        ),
        _command(
            "gate",
            "judge the new set by an evaluation; go back when it fails twice in a row",
            Argument("results", "the results of `nanocoder eval --criteria`", metavar="DIR"),
        ),
        _command("promote", "go to the next stage, if the gate was passed in this one", REASON),
        _command("back", "withdraw the new set", REASON),
        _command(
            "show",
            "show the stage and the history",
            Argument("--output", "output format", default="text", choices=("text", "json")),
        ),
    ]


def _command(action: str, help_text: str, *arguments: Argument) -> Command[Host]:
    return Command(
        f"rollout {action}",
        help_text,
        ACTIONS[action],
        (*arguments, FILE, DIRECTORY),
        outside_calls=True,
    )
