"""The folders of skills: the settings, and a quick check at start whether there can be any."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import field
from nanocoder import value


@value
class Settings:
    """The settings of `[plugins.tool-skill]`.

    *folders* are searched in addition to nanocoder's own `skills` folder, absolute or with ~;
    *project* are folders of the workspace. *in_prompt* adds the names to the prompt.
    """

    folders: tuple[str, ...] = field(default=(), metadata={"user_only": True})
    project: tuple[str, ...] = (".nanocoder/skills", ".claude/skills", ".agents/skills")
    in_prompt: bool = True


def has_folders(settings: Settings, cwd: Path) -> bool:
    """Return True if one of the folders exists: most sessions have none, and read nothing more."""
    project = (os.path.join(cwd, folder) for folder in settings.project)
    return any(map(os.path.isdir, project)) or any(own_folders(settings.folders))


def own_folders(folders: Sequence[str]) -> Iterator[Path]:
    """Yield the folders of the person that are there: nanocoder's own, then the configured ones."""
    configured = os.environ.get("XDG_CONFIG_HOME", "")
    base = configured if os.path.isabs(configured) else os.path.expanduser("~/.config")
    for folder in (os.path.join(base, "nanocoder", "skills"), *folders):
        path = os.path.expanduser(folder)
        # A relative path would lead into the workspace, which is not trusted.
        if os.path.isabs(path) and os.path.isdir(path):
            yield Path(path)
