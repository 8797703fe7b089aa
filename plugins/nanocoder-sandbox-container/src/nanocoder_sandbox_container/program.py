"""Check docker or podman and its image, once for each image."""

import os
from functools import cache
from pathlib import Path
from typing import Final

from nanocoder_kit_process import SYSTEM_PATH, find_program
from nanocoder_kit_sandbox import problem_of

from nanocoder_sandbox_container.settings import ContainerSettings

VARIABLES: Final = ("HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST", "XDG_RUNTIME_DIR")
"""Our variables by which an engine finds its daemon; keys stay out."""
_ASK_S: Final = 20.0


def find_engine(name: str) -> str:
    """Return the path of the engine *name*, which is never one of the workspace, or ""."""
    return find_program(name, os.environ.get("PATH", SYSTEM_PATH), Path.cwd())


def environment() -> dict[str, str]:
    """Return the environment of the engine's own commands."""
    ours = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    return {"PATH": SYSTEM_PATH, **ours}


def problem(settings: ContainerSettings | None) -> str:
    """Return the reason no container can be started, or "" if one can."""
    if settings is None or not settings.image:
        return "no image is set; name one in `image` of [plugins.sandbox-container]"
    if settings.hosts:
        return "containers know no list of hosts; leave `hosts` empty"
    return _problem_of(find_engine(settings.engine), settings.engine, settings.image)


@cache
def _problem_of(engine: str, name: str, image: str) -> str:
    if not engine:
        return f"there is no program {name}"
    argv = [engine, "image", "inspect", "--format", "{{.Id}}", image]
    return problem_of(name, argv, environment(), _ASK_S)
