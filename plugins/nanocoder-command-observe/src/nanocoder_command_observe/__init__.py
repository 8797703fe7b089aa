"""The commands `stats`, `trace` and `context`: durations of calls, and the use of the window."""

from argparse import Namespace

from attrs import asdict, field, frozen
from nanocoder import Argument, Command, Host, hookimpl

from nanocoder_command_observe import context, stats, trace

OUTPUT = Argument("--output", "output format", default="text", choices=("text", "json"))
DIRECTORY = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
CONFIGURED = Argument(
    "--cwd",
    "where the configuration is from (default: here); calls of all directories count",
    metavar="DIR",
)


@frozen
class Settings:
    """The objectives for calls by tool; "*" applies to all tools without their own."""

    p95_ms: dict[str, float] = field(
        factory=dict,
        metadata={"description": 'What 95 % of a tool\'s calls take at the most, by tool or "*".'},
    )
    p99_ms: dict[str, float] = field(
        factory=dict,
        metadata={"description": 'What 99 % of a tool\'s calls take at the most, by tool or "*".'},
    )
    error_rate: dict[str, float] = field(
        factory=dict,
        metadata={"description": 'Which part of a tool\'s calls may fail, 0 to 1, by tool or "*".'},
    )


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.command-observe]`."""
    return Settings


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer the commands."""
    return [
        _context_command(),
        _stats_command(),
        Command(
            "trace",
            "show the six stages of one call, with their times",
            trace.run,
            (
                Argument(
                    "call",
                    "the ID of a call (default: that of the last call)",
                    count="?",
                    default="last",
                    metavar="CALL_ID",
                ),
                Argument(
                    "--session",
                    "the session of the call",
                    default="last",
                    metavar="ID",
                    completes="sessions",
                ),
                OUTPUT,
                DIRECTORY,
            ),
        ),
    ]


def _context_command() -> Command[Host]:
    return Command(
        "context",
        "show how many tokens prompt, files, tools and conversation take",
        context.run,
        (
            Argument(
                "--session",
                "with the conversation of this session (default: a new one)",
                metavar="ID",
                completes="sessions",
            ),
            Argument("--model", "count for this model", metavar="P/M", completes="models"),
            OUTPUT,
            DIRECTORY,
        ),
    )


def _stats_command() -> Command[Host]:
    return Command(
        "stats",
        "show how long calls take and how often they fail",
        _stats,
        (
            OUTPUT,
            Argument("--tool", "only calls of this tool", metavar="NAME", completes="tools"),
            Argument(
                "--days",
                "only calls of the last N days (default: all)",
                kind="number",
                metavar="N",
            ),
            Argument(
                "--burn-rate",
                "how fast calls use up what the objectives allow, in three windows",
                kind="flag",
            ),
            Argument(
                "--check",
                "exit with 1 if an objective is not met, or a burn rate is an alert",
                kind="flag",
            ),
            CONFIGURED,
        ),
    )


def _stats(arguments: Namespace, host: Host) -> int:
    return stats.run(arguments, host, asdict(host.config.settings("command-observe", Settings)))
