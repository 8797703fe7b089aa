"""Directories of the user's own files: configuration, state, caches."""

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from nanocoder_schema import ConfigError

MANAGED_DIR: Final = Path("/etc/nanocoder")
"""The directory of the administrator's config.toml. No variable moves it."""

PLACES: Final = {
    "config": ("XDG_CONFIG_HOME", ".config", "user_config_dir"),
    "state": ("XDG_STATE_HOME", ".local/state", "user_state_dir"),
    "cache": ("XDG_CACHE_HOME", ".cache", "user_cache_dir"),
}
"""Each kind's variable, its path below the home directory, and platformdirs' function."""


def user_config_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of config.toml; raises ConfigError without a home directory."""
    return _directory("config", environment)


def state_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of sessions and trust; raises ConfigError without a home directory."""
    return _directory("state", environment)


def cache_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of caches; raises ConfigError without a home directory."""
    return _directory("cache", environment)


def _directory(kind: str, environment: Mapping[str, str]) -> Path:
    variable, below_home, function = PLACES[kind]
    configured = environment.get(variable, "")
    # The XDG specification ignores relative paths.
    if configured and Path(configured).is_absolute():
        return Path(configured, "nanocoder")
    home = environment.get("HOME", "")
    home = home if home.startswith("/") else str(_system_home() or "")
    if not home:
        problem = f"there is no home directory to keep nanocoder's {kind} in"
        raise ConfigError(f"{problem}; set HOME or {variable}")
    if sys.platform.startswith("linux"):
        return Path(home, below_home, "nanocoder")
    # Imported only on other systems than Linux.
    import platformdirs

    return Path(getattr(platformdirs, function)("nanocoder", appauthor=False))


def own_folders(
    environment: Mapping[str, str] = os.environ, *, root: Path | None = None
) -> tuple[Path, ...]:
    """Return nanocoder's directories of settings, sessions and caches; none without a home.

    A directory that holds *root*, which a tool put there for a session, is left out.
    """
    folders = []
    for place in (user_config_dir, state_dir, cache_dir):
        with contextlib.suppress(ConfigError):
            folder = place(environment)
            if root is None or not root.is_relative_to(folder.resolve()):
                folders.append(folder)
    return tuple(folders)


def refusal(workspace: Path, environment: Mapping[str, str]) -> str:
    """Return the reason why no session may open in *workspace*, or "".

    A project that supplied our configuration, or a cache that selects code to load, would control
    nanocoder. A workspace that is or contains the home directory is allowed.
    """
    root = workspace.resolve()
    for kind, (variable, _, _) in PLACES.items():
        if _is_inside(kind, root, environment) and not _is_own(kind, root, environment):
            place = _directory(kind, environment)
            is_set = bool(environment.get(variable))
            advice = f"Unset {variable}" if is_set else "Set HOME to your own home directory"
            return (
                f"nanocoder's {kind} directory {place} is inside the workspace {root}, where a"
                f" project's files could decide what nanocoder may do. {advice}, or work in"
                " another folder (--cwd DIR)"
            )
    return ""


def home_warning(workspace: Path, environment: Mapping[str, str]) -> str:
    """Return a warning for a workspace at or above the home directory, or ""."""
    root = workspace.resolve()
    if not any(_is_inside(kind, root, environment) for kind in PLACES):
        return ""
    home = _home(environment)
    what = "is your home directory" if home == root else "holds nanocoder's own files"
    return (
        f"the workspace {root} {what}: tools can reach everything in it but nanocoder's own"
        " files. It is safer to start in a project's folder"
    )


def _is_inside(kind: str, root: Path, environment: Mapping[str, str]) -> bool:
    try:
        return _directory(kind, environment).resolve().is_relative_to(root)
    except ConfigError:
        return False


def _is_own(kind: str, root: Path, environment: Mapping[str, str]) -> bool:
    """Return True if *kind* is inside *root* only because the home directory is.

    A variable may point into a project's checkout, which the project controls; only the system's
    home directory may be a checkout.
    """
    home, system_home = _home(environment), _system_home()
    if home is None or not home.is_relative_to(root):
        return False
    place = _directory(kind, environment).resolve()
    for folder in (place, *place.parents):
        if folder == system_home:
            return True
        if os.path.lexists(folder / ".git"):
            return False
    return True


def _home(environment: Mapping[str, str]) -> Path | None:
    home = Path(environment.get("HOME", ""))
    return home.resolve() if home.is_absolute() else _system_home()


def _system_home() -> Path | None:
    """Return the home directory in the system's user database, or None."""
    import pwd  # there is none on Windows

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    except KeyError:
        return None
