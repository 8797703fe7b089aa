"""The commands that set nanocoder up, and show how it is: packages, settings, models, tools."""

from argparse import Namespace
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Final

import attrs
from nanocoder import Argument, Command, Host, Resource, hookimpl

from nanocoder_command_setup.plugin_option import FilePlugins
from nanocoder_command_setup.schema import config_schema
from nanocoder_command_setup.sets import Sets
from nanocoder_command_setup.sources import Settings

OUTPUT: Final = Argument("--output", "output format", default="text", choices=("text", "json"))
DIRECTORY: Final = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
NAMES: Final = Argument("names", "for example tool-grep", count="+", metavar="NAME")
VALUE: Final = Argument("value", "the value, as text or TOML: plan, 20, true, '[\"bash\"]'")
YES: Final = Argument("--yes", "do not ask", kind="flag")
KEY: Final = Argument("key", "a dotted key, for example plugins.strict")


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Offer `sets` and `file-plugins`, which the options `--set` and `--plugin` ask."""
    return [
        Resource("sets", lambda _session, _settings: Sets()),
        Resource("file-plugins", lambda _session, _settings: FilePlugins()),
    ]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.command-setup]`."""
    return Settings


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer `models`, `doctor`, `tools`, three actions of `plugins` and eight of `config`."""
    return [
        Command(
            "plugins install",
            "show what packages do and, if you agree, install them",
            _lazy("packages", "install"),
            (NAMES, attrs.evolve(YES, help="do not ask; what is installed is shown all the same")),
            outside_calls=True,
        ),
        Command(
            "plugins remove",
            "uninstall with pip or uv",
            _lazy("packages", "remove"),
            (attrs.evolve(NAMES, completes="plugins"), YES),
            outside_calls=True,
        ),
        *_listing_commands(),
        *_shown_settings(),
        *_config_commands(),
        Command(
            "models",
            "list the models you can use",
            _lazy("models", "run"),
            (
                Argument("provider", "list the models of this provider", count="?", default=""),
                OUTPUT,
            ),
        ),
        Command("doctor", "check this installation", _lazy("doctor", "run"), (OUTPUT,)),
    ]


def _listing_commands() -> list[Command[Host]]:
    return [
        Command(
            "plugins list",
            "every plugin and what it offers",
            _lazy("listings", "plugins"),
            (Argument("names", "only these, in full", count="*", metavar="NAME"), OUTPUT),
        ),
        Command(
            "tools",
            "list the tools with their risks and costs",
            _lazy("listings", "tools"),
            (
                Argument("tool", "show this tool and its parameters", count="?"),
                OUTPUT,
                Argument("--dialect", "as this dialect offers them", metavar="D", default=""),
            ),
        ),
    ]


def _shown_settings() -> list[Command[Host]]:
    return [
        Command(
            "config show",
            "every value and where it comes from",
            _lazy("showing", "show"),
            (OUTPUT, DIRECTORY),
        ),
        Command(
            "config where",
            "where one value comes from",
            _lazy("showing", "where"),
            (KEY, OUTPUT, DIRECTORY),
        ),
        Command(
            "config path",
            "print the path of your configuration file",
            _lazy("showing", "path"),
            (Argument("--project", "of this project's file instead", kind="flag"), DIRECTORY),
        ),
    ]


def _config_commands() -> list[Command[Host]]:
    return [
        Command(
            "config set",
            "set a value in your configuration file",
            _lazy("settings", "set_value"),
            (KEY, VALUE, DIRECTORY),
            outside_calls=True,
        ),
        Command(
            "config unset",
            "remove a value from your configuration file",
            _lazy("settings", "unset"),
            (KEY, DIRECTORY),
            outside_calls=True,
        ),
        Command(
            "config schema", "print the JSON Schema of the configuration", _schema, (DIRECTORY,)
        ),
        Command(
            "config trust",
            "show this project's settings and apply them",
            _lazy("trust", "trust"),
            (YES, DIRECTORY),
            outside_calls=True,
        ),
        Command(
            "config untrust",
            "let this project's settings only tighten again",
            _lazy("trust", "untrust"),
            (DIRECTORY,),
        ),
    ]


def _lazy(module: str, function: str) -> Callable[[Namespace, Host], int]:
    """Return a command's function, which imports its module when it is called."""
    return partial(_run, module, function)


def _run(module: str, function: str, arguments: Namespace, host: Host) -> int:
    return int(getattr(import_module(f"{__name__}.{module}"), function)(arguments, host))


def _schema(_: Namespace, host: Host) -> int:
    host.print_json(config_schema(host.config.tables, host.settings_classes()))
    return 0
