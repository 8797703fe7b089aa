"""Paths that no sandbox reads: credentials, and nanocoder's own files."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from nanocoder import SessionInfo

from nanocoder_kit_sandbox.settings import Settings
from nanocoder_kit_sandbox.survey import outermost

IN_HOME: Final = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".config/gcloud"),
    *(".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh"),
    *(".config/glab-cli", ".config/hub", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".vault-token"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d"),
    *(".config/op", ".password-store", ".local/share/keyrings", ".config/rclone", ".boto"),
    *(".s3cfg", ".mozilla", ".config/google-chrome", ".config/chromium"),
    *(".config/BraveSoftware", ".claude", ".codex", ".gemini", ".config/github-copilot"),
    *(".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history"),
    *(".colima", ".lima", ".orbstack"),
)
"""Credentials, histories and sockets of other programs, below a person's home."""


EMPTY_PLACES: Final = ("/dev", "/run", "/tmp")  # noqa: S108
"""Directories that are empty in a sandbox, or replaced by one of its own."""
OWN_PLACES: Final = (*EMPTY_PLACES, "/proc")
_BELOW_EMPTY: Final = tuple(f"{folder}/" for folder in EMPTY_PLACES)
_OF_GIT: Final = (".gitconfig", *(f".config/git/{name}" for name in ("config", "ignore")))
KEPT_IN_RUN: Final = ("/run/current-system", "/run/wrappers", "/run/systemd/resolve")
"""Paths that some systems need for programs and look-ups; sockets of services are elsewhere."""
MARK: Final = "pyvenv.cfg"


def hidden_places(session: SessionInfo, settings: Settings) -> list[str]:
    """Return the existing paths, resolved, that programs inside cannot read; none holds another.

    A folder that holds the workspace stays visible: the workspace is in it.
    """
    home = Path.home()
    listed = [home / name for name in IN_HOME]
    listed += [Path(path).expanduser() for path in settings.hidden]
    listed += session.own_folders
    listed += map(Path, session.readable.outside())
    if session.folder is not None:
        listed.append(session.folder)
    real = sorted({os.path.realpath(path) for path in listed if os.path.lexists(path)})
    return outermost([path for path in real if not _holds(path, str(session.cwd))])


def long_outputs(session: SessionInfo) -> list[str]:
    """Return the folder with the outputs that were too long for the model, if it is there.

    It lies in a hidden one, and the model is told to read in it.
    """
    folder = session.outputs
    return [os.path.realpath(folder)] if folder is not None and folder.is_dir() else []


def listening_sockets(besides: Sequence[str] = (), visible: Sequence[str] = ()) -> list[str]:
    """Return the sockets of the file system that programs of this machine listen on now.

    Those below *besides* are left out, and those where a sandbox has folders of its own, unless
    they are below *visible*. A program inside with a network of its own is not of this machine.
    """
    paths = {os.path.realpath(name) for name in _socket_names() if name.startswith("/")}
    return sorted(
        path
        for path in paths
        if os.path.exists(path)
        and not is_in(path, besides)
        and (is_in(path, visible) or not is_in(path, OWN_PLACES))
    )


def relative_sockets() -> set[str]:
    """Return the last names of sockets that programs of this machine have by a relative path."""
    names = (name for name in _socket_names() if name[:1] not in "/@")
    return {os.path.basename(name) for name in names}


def _socket_names() -> set[str]:
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "surrogateescape").splitlines()[1:]
    except OSError:  # not Linux
        return set()
    return {fields[7] for line in lines if len(fields := line.split(" ", 7)) > 7}  # noqa: PLR2004


def readable_in_empty_places(besides: Iterable[str]) -> list[str]:
    """Return the paths in EMPTY_PLACES that programs need to read, resolved and sorted.

    These are folders with programs that PATH names, and git's settings in a home that is there,
    without which git fails. A virtual environment is returned whole: Python starts by a link in it,
    and fails where it cannot read `pyvenv.cfg`. A folder that holds a path of *besides*, or lies
    below one, is left out: the workspace has rules of its own, and what is secret stays so.
    """
    apart = tuple(besides)
    return sorted(
        {
            path
            for path in (*_folders(os.environ.get("PATH", "")), *_settings_of_git())
            if path.startswith(_BELOW_EMPTY)
            and not any(_holds(path, each) or _holds(each, path) for each in apart)
        }
    )


def _folders(path: str) -> Iterator[str]:
    entries = (entry.rstrip("/") for entry in path.split(":") if entry.startswith("/"))
    for entry in dict.fromkeys(entries):
        above = os.path.dirname(entry)
        is_environment = os.path.lexists(f"{above}/{MARK}")
        # Resolving each folder on PATH takes longer than all of the rest.
        if is_environment or entry.startswith(EMPTY_PLACES):
            folder = os.path.realpath(above if is_environment else entry)
            needed = f"{folder}/{MARK}" if is_environment else folder
            if _is_ours(folder) and _is_ours(needed):
                yield folder


def _settings_of_git() -> Iterator[str]:
    home = str(Path.home())
    if home.startswith(_BELOW_EMPTY):
        for path in [f"{home}/{name}" for name in _OF_GIT]:
            if _is_ours(path):
                yield os.path.realpath(path)


def _is_ours(path: str) -> bool:
    """Tell whether *path* is this user's or root's: in /tmp everybody can make folders."""
    try:
        return os.stat(path, follow_symlinks=False).st_uid in {0, os.getuid()}
    except (OSError, ValueError):
        return False


def is_in(path: str, folders: Iterable[str]) -> bool:
    """Tell whether *path* is one of *folders*, or below one."""
    return any(_holds(folder, path) for folder in folders)


def _holds(folder: str, path: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")
