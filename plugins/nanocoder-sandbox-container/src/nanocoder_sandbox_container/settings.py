"""The settings of containers."""

import re
from typing import Literal

from attrs import field, frozen
from nanocoder_kit_sandbox import Settings

_PINNED = re.compile(r"[^\s-]\S*@sha256:[0-9a-f]{64}")


def _pinned(_: object, __: object, image: str) -> None:
    if image and not _PINNED.fullmatch(image):
        raise ValueError(f"{image!r} is not pinned; name it with its digest: NAME@sha256:…")


@frozen
class ContainerSettings(Settings):
    """The table [plugins.sandbox-container].

    *image* is what the containers are made of, with its digest; it has to be on this machine.
    *engine* is the program that makes them. *network*: whether programs inside reach every host,
    otherwise none; *hosts* and *addresses* are refused, a container knows no list. *writable*:
    protected names of the workspace that may be changed. *hidden* has no effect: only the
    workspace is seen. *cpu_s* seconds of the processor, *open_files* and *file_mb*, how large a
    file may get, are limits of each process, *memory_mb* and *processes* of the container. 0: no
    limit.
    """

    image: str = field(default="", validator=_pinned, metadata={"user_only": True})
    engine: Literal["docker", "podman"] = field(default="docker", metadata={"user_only": True})
