"""Where the user's own files live: configuration, state, caches. Never inside the workspace."""

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nanocoder.errors import ConfigError

PLACES: Final = {
    "config": ("XDG_CONFIG_HOME", ".config", "user_config_dir"),
    "state": ("XDG_STATE_HOME", ".local/state", "user_state_dir"),
    "cache": ("XDG_CACHE_HOME", ".cache", "user_cache_dir"),
}
"""Each kind's variable, its place below the home directory, and platformdirs' name for it."""


def user_config_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where config.toml is looked for; raises ConfigError without a home directory."""
    return _place("config", environment)


def state_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where sessions and trust are kept; raises ConfigError without a home directory."""
    return _place("state", environment)


def cache_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where caches are kept; raises ConfigError without a home directory."""
    return _place("cache", environment)


def _place(kind: str, environment: Mapping[str, str]) -> Path:
    variable, below_home, function = PLACES[kind]
    given = Path(environment.get(variable, ""))
    if given.is_absolute():
        return given / "nanocoder"
    home = Path(environment.get("HOME", ""))
    if sys.platform.startswith("linux") and home.is_absolute():
        return home / below_home / "nanocoder"
    # Only the odd system gets here: no need that the others wait for the import.
    import platformdirs

    found = Path(getattr(platformdirs, function)("nanocoder", appauthor=False))
    if not found.is_absolute():
        raise ConfigError(
            f"there is no home directory to keep nanocoder's {kind} in; set HOME or {variable}"
        )
    return found


def own_folders(
    environment: Mapping[str, str] = os.environ, *, root: Path | None = None
) -> tuple[Path, ...]:
    """Return where nanocoder keeps settings, sessions and caches, as far as there is a home.

    A folder that holds *root*, which a tool put there for a session, is left out.
    """
    folders = []
    for place in (user_config_dir, state_dir, cache_dir):
        with contextlib.suppress(ConfigError):
            folder = place(environment)
            if root is None or not root.is_relative_to(folder.resolve()):
                folders.append(folder)
    return tuple(folders)


def refuse_inside(workspace: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Raise ConfigError when one of our own places lies inside *workspace*; returns notices.

    A repository that could supply our configuration, or a cache that says what to load, would be in
    command. The one exception is a person who works in the home directory itself, at its default
    places.
    """
    root = workspace.resolve()
    inside = [kind for kind in PLACES if _is_inside(kind, root, environment)]
    if not inside:
        return ()
    if all(_is_own_home(kind, environment) for kind in inside):
        return (f"{root} holds nanocoder's own files; it is safer to start in a project's folder",)
    place = _place(inside[0], environment)
    raise ConfigError(
        f"nanocoder's {inside[0]} directory {place} is inside the workspace {root}, whose"
        f" files must not decide what nanocoder does; unset {PLACES[inside[0]][0]} (or"
        " HOME), or start somewhere else"
    )


def _is_inside(kind: str, root: Path, environment: Mapping[str, str]) -> bool:
    try:
        return _place(kind, environment).resolve().is_relative_to(root)
    except ConfigError:
        return False


def _is_own_home(kind: str, environment: Mapping[str, str]) -> bool:
    """Tell whether *kind* is at its default below the home directory that the system knows."""
    if environment.get(PLACES[kind][0]):
        return False
    import pwd  # there is none on Windows

    try:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    except KeyError:
        return False
    return _place(kind, environment).resolve().is_relative_to(home)
