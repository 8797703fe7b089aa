"""The commands that set nanocoder up, and say whether it is: packages, settings, models."""

from argparse import Namespace
from typing import Final

import attrs
from nanocoder import Argument, Command, Host, hookimpl

OUTPUT: Final = Argument("--output", "output format", default="text", choices=("text", "json"))
DIRECTORY: Final = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
NAMES: Final = Argument("names", "for example tool-grep", count="+", metavar="NAME")
VALUE: Final = Argument("value", "the value, as text or TOML: plan, 20, true, '[\"bash\"]'")
YES: Final = Argument("--yes", "do not ask", kind="flag")
KEY: Final = Argument("key", "a dotted key, for example plugins.strict")


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer `models`, `doctor`, two actions of the group `plugins` and five of `config`."""
    return [
        Command(
            "plugins install",
            "show what packages do and, if you agree, install them",
            _install,
            (NAMES, attrs.evolve(YES, help="do not ask; what is installed is shown all the same")),
            outside_calls=True,
        ),
        Command(
            "plugins remove",
            "uninstall with pip",
            _remove,
            (attrs.evolve(NAMES, completes="plugins"),),
            outside_calls=True,
        ),
        *_config_commands(),
        Command(
            "models",
            "list the models you can use",
            _models,
            (
                Argument("provider", "list the models of this provider", count="?", default=""),
                OUTPUT,
            ),
        ),
        Command("doctor", "check this installation", _doctor, (OUTPUT,)),
    ]


def _config_commands() -> list[Command[Host]]:
    return [
        Command(
            "config set",
            "set a value in your configuration file",
            _set_value,
            (KEY, VALUE, DIRECTORY),
            outside_calls=True,
        ),
        Command(
            "config unset",
            "remove a value from your configuration file",
            _unset,
            (KEY, DIRECTORY),
            outside_calls=True,
        ),
        Command(
            "config schema", "print the JSON Schema of the configuration", _schema, (DIRECTORY,)
        ),
        Command(
            "config trust",
            "show this project's settings and apply them",
            _trust,
            (YES, DIRECTORY),
            outside_calls=True,
        ),
        Command(
            "config untrust",
            "let this project's settings only tighten again",
            _untrust,
            (DIRECTORY,),
        ),
    ]


def _install(arguments: Namespace, host: Host) -> int:
    # Imported here, as below: a command that is not typed costs nothing.
    from nanocoder_command_setup.packages import install

    return install(arguments, host)


def _remove(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_setup.packages import remove

    return remove(arguments, host)


def _models(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_setup.models import run

    return run(arguments, host)


def _doctor(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_setup.doctor import run

    return run(arguments, host)


def _set_value(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_setup.settings import set_value

    return set_value(arguments, host)


def _unset(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_setup.settings import unset

    return unset(arguments, host)


def _schema(_: Namespace, host: Host) -> int:
    from nanocoder_command_setup.schema import config_schema

    host.print_json(config_schema(host.config.tables, host.settings_classes()))
    return 0


def _trust(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_setup.trust import trust

    return trust(arguments, host)


def _untrust(arguments: Namespace, host: Host) -> int:
    from nanocoder_command_setup.trust import untrust

    return untrust(arguments, host)
