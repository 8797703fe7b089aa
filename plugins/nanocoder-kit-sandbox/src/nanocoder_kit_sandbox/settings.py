"""The settings that all sandboxes have."""

import os
import shlex
from collections.abc import Iterator
from typing import Final

from attrs import field, frozen

_ONLY_USER = {"user_only": True}
WEB_PORTS: Final = (80, 443)
OFFLINE: Final = {
    "npm_config_fetch_retries": "0",
    "npm_config_prefer_offline": "true",
    "npm_config_audit": "false",
    "npm_config_update_notifier": "false",
    "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "UV_OFFLINE": "1",
    "CARGO_NET_RETRY": "0",
}
"""Downloads fail at once, without retries that take a minute."""
UNSET: Final = ("XDG_RUNTIME_DIR", "DOCKER_HOST")
"""Variables that lead to services of this machine."""


@frozen
class Settings:
    """The table of a sandbox's plugin.

    *hosts*: the only hosts that programs inside reach, "example.org" or "*.example.org" on the
    ports 80 and 443, or with a port, "example.org:8443".
    *addresses*: those of them that are not public, as in "10.0.0.0/8". *network*: whether programs
    reach every host, and this machine. *writable*: paths that they may change besides the
    workspace, and protected names of the workspace that they may change, too; "~" is your home.
    *hidden*: paths that they cannot read, besides credentials in your home and what nanocoder
    keeps. The rest are limits of each process: *cpu_s* seconds of the processor, *memory_mb* of
    memory, *open_files* and *file_mb*, how large a file may get; and *processes*, how many there
    may be at once. 0: no limit.
    """

    hosts: tuple[str, ...] = field(default=(), metadata=_ONLY_USER)
    addresses: tuple[str, ...] = field(default=(), metadata=_ONLY_USER)
    network: bool = field(default=False, metadata=_ONLY_USER)
    writable: tuple[str, ...] = field(default=(), metadata=_ONLY_USER)
    hidden: tuple[str, ...] = field(default=(), metadata={"tighten": "union"})
    cpu_s: int = field(default=3_600, metadata=_ONLY_USER)
    memory_mb: int = field(default=8_192, metadata=_ONLY_USER)
    processes: int = field(default=2_048, metadata=_ONLY_USER)
    open_files: int = field(default=8_192, metadata=_ONLY_USER)
    file_mb: int = field(default=10_240, metadata=_ONLY_USER)

    def checks(self, _trusted_folder: object) -> Iterator[tuple[str, str, str]]:
        """Yield for `nanocoder doctor` which paths of *writable* elsewhere are not there."""
        for name in self.writable:
            if name.startswith(("/", "~")) and not os.path.exists(os.path.expanduser(name)):
                detail = f"`writable` names {name!r}, which does not exist: no command can make it"
                yield "sandbox", "note", detail

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for hosts and addresses that are none."""
        if self.hosts or self.addresses:
            from nanocoder_kit_llm.net import parse_host_rules, parse_rules

            parse_host_rules(self.hosts, WEB_PORTS)
            parse_rules(self.addresses)


def variables(tmp: str, settings: Settings, *, is_read_only: bool) -> dict[str, str]:
    """Return the variables that programs inside get, with *tmp* for temporary files.

    In a workspace that *is_read_only*, Python and its tests keep no caches.
    """
    values = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), tmp)
    # Git refreshes its index when it only reads, where it may, and another git would wait for that.
    values["GIT_OPTIONAL_LOCKS"] = "0"
    if not settings.network and not settings.hosts:
        values |= OFFLINE
    if is_read_only:
        cache = shlex.quote(f"cache_dir={tmp}/.pytest_cache")
        values["PYTEST_ADDOPTS"] = f"{os.environ.get('PYTEST_ADDOPTS', '')} -o {cache}".lstrip()
        values["PYTHONPYCACHEPREFIX"] = f"{tmp}/.pycache"
    return values
