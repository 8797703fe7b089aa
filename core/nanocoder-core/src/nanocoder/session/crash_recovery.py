"""What sessions that were killed have left half done, looked for when the next one is opened."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from nanocoder.config.places import cache_dir, state_dir
from nanocoder.errors import ConfigError, ToolError


def take_back_what_was_killed(
    root: Path, environment: Mapping[str, str], say: Callable[[str], None]
) -> None:
    """Restore what transactional calls in *root* had changed when their process was killed.

    The file that a killed write was making is removed.
    """
    folder = change_logs_dir(environment)
    if folder is None or not folder.is_dir():
        return
    from nanocoder_files import discard_orphaned_logs, recover  # mostly there is nothing

    try:
        lines = recover(folder, root)
        if folder.is_dir():
            discard_orphaned_logs(folder, _ours(environment))
    except (OSError, ToolError) as error:
        lines = [
            f"{folder}: unfinished changes of an earlier session could not be checked: {error}"
        ]
    for line in lines:
        say(line)


def _ours(environment: Mapping[str, str]) -> Iterator[Path]:
    for place in (state_dir, cache_dir):
        with suppress(ConfigError):
            yield place(environment)


def change_logs_dir(environment: Mapping[str, str]) -> Path | None:
    """Return where transactional calls keep their change logs; it need not exist.

    None where there is no state directory: such a call survives no kill, and leaves nothing.
    """
    try:
        state = state_dir(environment)
    except ConfigError:
        return None
    return state / "change-logs" if state.is_dir() else None
