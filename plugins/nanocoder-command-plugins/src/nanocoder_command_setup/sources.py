"""Sources that plugins may be installed from: packages by their names, and one index."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from attrs import field, frozen
from nanocoder import Host, UsageError

from nanocoder_command_setup.consent import Proposal, normal

PLUGIN: Final = "command-setup"


@frozen
class Settings:
    """The packages and the index from which `plugins install` takes plugins."""

    allowed_packages: tuple[str, ...] = field(
        default=(),
        metadata={
            "description": 'Names of packages whose plugins may be installed, for example "acme-*";'
            " empty: all.",
            "user_only": True,
        },
    )
    blocked_packages: tuple[str, ...] = field(
        default=(),
        metadata={
            "description": "Names of packages that may not be installed, even if allowed.",
            "tighten": "union",
        },
    )
    index: str = field(
        default="",
        metadata={
            "description": "The address of the only index to install from; then no folder and no"
            " wheel of this machine is a source. Empty: what pip or uv uses.",
            "user_only": True,
        },
    )


def settings_of(host: Host) -> Settings:
    """Return the sources that are allowed."""
    return host.config.settings(PLUGIN, Settings)


def refuse_path(path: str, host: Host) -> None:
    """Raise UsageError for a folder or a wheel if there is an index to install from."""
    if settings_of(host).index:
        raise _refused(path, "index", "is the only source", host)


def refuse_name(name: str, host: Host) -> None:
    """Raise UsageError for the name of a package that is blocked or not allowed."""
    settings = settings_of(host)
    _refuse_blocked(name, settings, host)
    if settings.allowed_packages and not _matches(name, settings.allowed_packages):
        allowed = ", ".join(settings.allowed_packages)
        raise _refused(name, "allowed_packages", f"allows only {allowed}", host)


def refuse_packages(proposals: Iterable[Proposal], host: Host) -> None:
    """Raise UsageError for a package that is blocked, or a plugin that is not allowed.

    Libraries need not be allowed.
    """
    for each in proposals:
        name = normal(each.package.distribution)
        if each.package.plugins or each.may_be_plugin or each.is_named:
            refuse_name(name, host)
        else:
            _refuse_blocked(name, settings_of(host), host)


def _refuse_blocked(name: str, settings: Settings, host: Host) -> None:
    if _matches(name, settings.blocked_packages):
        raise _refused(name, "blocked_packages", "blocks it", host)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, normal(pattern)) for pattern in patterns)


def _refused(name: str, key: str, reason: str, host: Host) -> UsageError:
    origin = host.config.where(f"plugins.{PLUGIN}.{key}", {PLUGIN: Settings})
    return UsageError(
        f"{name} may not be installed: {key} ({origin}) {reason}. Nothing was installed"
    )
