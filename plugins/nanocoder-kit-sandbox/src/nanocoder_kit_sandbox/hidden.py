"""What nothing inside can read outside of the workspace: credentials, and what nanocoder keeps."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from nanocoder import SessionInfo

from nanocoder_kit_sandbox.settings import Settings

IN_HOME: Final = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".config/gcloud"),
    *(".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh"),
    *(".config/glab-cli", ".config/hub", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".vault-token"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d"),
    *(
        ".config/op",
        ".password-store",
        ".local/share/keyrings",
        ".config/rclone",
        ".boto",
        ".s3cfg",
    ),
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".claude", ".codex", ".gemini", ".config/github-copilot", ".bash_history", ".zsh_history"),
    *(".python_history", ".node_repl_history", ".psql_history", ".colima", ".lima", ".orbstack"),
)
"""Credentials, histories and sockets of other programs, below a person's home."""


OWN_PLACES: Final = ("/dev", "/proc", "/run", "/tmp")  # noqa: S108


def hidden_places(session: SessionInfo, settings: Settings) -> list[str]:
    """Return the existing paths, resolved, that programs inside cannot read; none holds another.

    A place that holds the workspace stays visible: the workspace is in it.
    """
    home = Path.home()
    listed = [home / name for name in IN_HOME]
    listed += [Path(path).expanduser() for path in settings.hidden]
    listed += session.own_folders
    if session.folder is not None:
        listed.append(session.folder)
    real = sorted({os.path.realpath(path) for path in listed if os.path.lexists(path)})
    return list(_outermost(path for path in real if not _holds(path, str(session.cwd))))


def listening_sockets(besides: Sequence[str] = ()) -> list[str]:
    """Return the sockets of the file system that programs of this machine listen on now.

    Those below *besides*, and where a sandbox has places of its own, are left out.
    """
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "surrogateescape").splitlines()[1:]
    except OSError:  # not Linux
        return []
    named = {fields[7] for line in lines if len(fields := line.split(" ", 7)) > 7}  # noqa: PLR2004
    paths = {os.path.realpath(name) for name in named if name.startswith("/")}
    own = (*OWN_PLACES, *besides)
    return sorted(
        path
        for path in paths
        if os.path.exists(path) and not any(_holds(place, path) for place in own)
    )


def _outermost(paths: Iterator[str]) -> Iterator[str]:
    """Yield the *paths*, which are sorted, without those below another of them."""
    last = ""
    for path in paths:
        if not last or not _holds(last, path):
            last = path
            yield path


def _holds(folder: str, path: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")
