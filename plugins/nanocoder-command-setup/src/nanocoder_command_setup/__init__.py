"""The commands that set nanocoder up: its packages and the person's settings."""

from argparse import Namespace
from typing import Final

import attrs
from nanocoder import Argument, Command, Host, hookimpl

DIRECTORY: Final = Argument("--cwd", "the directory (default: this one)", metavar="DIR")
NAMES: Final = Argument("names", "for example tool-grep", count="+", metavar="NAME")
VALUE: Final = Argument("value", "the value, as text or TOML: plan, 20, true, '[\"bash\"]'")
YES: Final = Argument("--yes", "do not ask", kind="flag")
KEY: Final = Argument("key", "a dotted key, for example plugins.strict")


@hookimpl
def nanocoder_commands() -> list[Command[Host]]:
    """Offer two actions of the group `plugins` and five of `config`."""
    return [
        Command(
            "plugins install",
            "install with pip",
            _install,
            (NAMES,),
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
