"""The core's commands and what each of them takes; plugins declare theirs in the same way."""

from typing import Any, Final

from nanocoder.hooks.contributions import Argument, Command

MODES: Final = ("plan", "ask", "edits", "auto")

OUTPUT: Final = Argument("--output", "output format", default="text", choices=("text", "json"))
DIRECTORY: Final = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
YES: Final = Argument("--yes", "do not ask", kind="flag")
TOOL: Final = Argument("tool", "the tool's name", completes="tools")
TOOL_ARGUMENTS: Final = Argument("arguments", "its arguments as JSON", count="?", default="{}")
KEY: Final = Argument("key", "a dotted key, for example plugins.strict")
SESSION: Final = (
    Argument(
        "--model", "the model, as provider/model", metavar="P/M", default="", completes="models"
    ),
    Argument("--mode", "how much nanocoder may do without asking", choices=MODES),
    Argument("--cwd", "the workspace (default: this directory)", metavar="DIR", default="."),
)
RESUME: Final = (
    Argument(
        ("-c", "--continue"),
        "continue this directory's last session",
        kind="flag",
        constant="last",
        target="resume",
        rival_group="resume",
    ),
    Argument(
        ("--resume", "--session"),
        "continue a session (default: the last one here)",
        count="?",
        constant="last",
        metavar="ID",
        target="resume",
        rival_group="resume",
        completes="sessions",
    ),
)
BEFORE_A_COMMAND: Final = (*SESSION, *RESUME)
"""These options may stand before a command, too."""
VERSION: Final = Argument(("-V", "--version"), "print the version", kind="flag")


def _command(name: str, text: str, *arguments: Argument) -> Command[Any]:
    return Command(name, text, None, arguments)


_ALL: Final = (
    _command(
        "chat",
        "start a conversation; the same as no command",
        Argument("prompt", "the first prompt", count="*"),
        *SESSION,
        *RESUME,
    ),
    _command(
        "run",
        "work on one prompt and print the answer",
        Argument("prompt", 'what to do; "-" reads it from standard input', count="?"),
        *SESSION,
        Argument("--output", "text, json or jsonl", default="text", metavar="FORMAT"),
        Argument("--max-turns", "stop after N turns", kind="integer", metavar="N"),
        *RESUME,
        Argument(
            "--stdin",
            "add standard input to the prompt, however long it takes; or never do"
            " (default: if it is a file, or a pipe that sends something within 3 seconds)",
            kind="switch",
        ),
        Argument("--dry-run", "show each change as a diff, and make none", kind="flag"),
        Argument("--dialect", "offer the tools in a dialect", metavar="D", default=""),
        Argument("--set", "use the plugins of one set only", metavar="NAME", default=""),
    ),
    _command(
        "call",
        "call one tool, checked like a call of the model",
        TOOL,
        TOOL_ARGUMENTS,
        *SESSION,
        OUTPUT,
    ),
    _command(
        "tools",
        "list the tools with their risks and costs",
        Argument(
            "tool", "show this tool and its parameters", count="?", default="", completes="tools"
        ),
        OUTPUT,
        Argument("--dialect", "as this dialect offers them", metavar="D", default=""),
    ),
    _command("plugins", "list, install, create and check plugins"),
    _command(
        "plugins list",
        "every plugin and what it offers",
        Argument("names", "only these, in full", count="*", metavar="NAME", completes="plugins"),
        OUTPUT,
    ),
    _command(
        "plugins install",
        "install with pip",
        Argument("names", "for example tool-grep", count="+", metavar="NAME"),
    ),
    _command(
        "plugins remove",
        "uninstall with pip",
        Argument("names", "for example tool-grep", count="+", metavar="NAME", completes="plugins"),
    ),
    _command("plugins lock", "record what is installed as trusted"),
    _command("plugins sync", "compare what is installed with the lock"),
    _command("doctor", "check this installation", OUTPUT),
    _command("policy", "show whether a tool call would be allowed, and why"),
    _command(
        "policy explain",
        "show the verdict on a call and its rule",
        TOOL,
        TOOL_ARGUMENTS,
        Argument("--agent", "as a sub-agent with this profile", metavar="NAME", default=""),
        *SESSION,
        OUTPUT,
    ),
    _command(
        "models",
        "list the models you can use",
        Argument("provider", "list the models of this provider", count="?", default=""),
        OUTPUT,
    ),
    _command("config", "show and change the configuration"),
    _command("config show", "every value and where it comes from", OUTPUT, DIRECTORY),
    _command("config where", "where one value comes from", KEY, OUTPUT, DIRECTORY),
    _command(
        "config path",
        "print the path of your configuration file",
        Argument("--project", "of this project's file instead", kind="flag"),
        DIRECTORY,
    ),
    _command(
        "config set",
        "set a value in your configuration file",
        KEY,
        Argument("value", "the value, as text or TOML: plan, 20, true, '[\"bash\"]'"),
        DIRECTORY,
    ),
    _command("config unset", "remove a value from your configuration file", KEY, DIRECTORY),
    _command("config schema", "print the JSON Schema of the configuration", DIRECTORY),
    _command("config trust", "show this project's settings and apply them", YES, DIRECTORY),
    _command("config untrust", "let this project's settings only tighten again", DIRECTORY),
)
COMMANDS: Final = {command.name: command for command in _ALL}
