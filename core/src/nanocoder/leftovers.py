"""What sessions that were killed have left half done, looked for when the next one is opened."""

from collections.abc import Callable, Mapping
from pathlib import Path

from nanocoder.config import state_dir
from nanocoder.errors import ConfigError, ToolError


def take_back_what_was_killed(
    root: Path, environment: Mapping[str, str], say: Callable[[str], None]
) -> None:
    """Restore what transactional calls in *root* had changed when their process was killed."""
    folder = intents_dir(environment)
    if folder is None or not folder.is_dir():
        return
    from nanocoder.workspace.recovery import recover  # mostly there is nothing

    try:
        lines = recover(folder, root)
    except (OSError, ToolError) as error:
        lines = [f"{folder}: what an earlier session left half done was not looked at: {error}"]
    for line in lines:
        say(line)


def intents_dir(environment: Mapping[str, str]) -> Path | None:
    """Return where transactional calls keep what they need to be taken back; it need not exist.

    None where there is no state directory: such a call survives no kill, and leaves nothing.
    """
    try:
        state = state_dir(environment)
    except ConfigError:
        return None
    return state / "intents" if state.is_dir() else None
