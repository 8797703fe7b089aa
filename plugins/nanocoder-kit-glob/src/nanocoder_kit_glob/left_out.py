"""What a result says of the files that a walk has left out."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nanocoder import LeftOut


def left_out_note(left_out: "LeftOut", is_wanted: Callable[[str], bool] | None = None) -> str:
    """Return lines about the files that *is_wanted* (None: all), folders and cut files."""
    counted = [(number, noun[:-1]) for noun, number in _counts(left_out, is_wanted).items()]
    texts = [f"{number:,} {noun}{'s' * (number != 1)}" for number, noun in counted if number]
    lines = [f"[{' and '.join(texts)} left out by rules]"] if texts else []
    lines += [f"[{path} is too long: only its first patterns count]" for path in left_out.cut]
    return "\n".join(lines)


def left_out_metadata(
    left_out: "LeftOut", is_wanted: Callable[[str], bool] | None = None
) -> dict[str, Any]:
    """Return how many were left out as `left_out` of a result's metadata, or nothing."""
    counts = _counts(left_out, is_wanted)
    return {"left_out": counts} if any(counts.values()) else {}


def _counts(left_out: "LeftOut", is_wanted: Callable[[str], bool] | None) -> dict[str, int]:
    files = left_out.files if is_wanted is None else filter(is_wanted, left_out.files)
    return {"files": len(set(files)), "folders": len(set(left_out.folders))}
