"""Criteria that an evaluation has to meet, written down before it runs."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen
from nanocoder import UsageError, did_you_mean

from nanocoder_command_eval.figures import Figures

LEAST: Final = {"min_pass_at_1": "pass_at_1", "min_pass_at_k": "pass_at_k", "min_low": "low"}
MOST: Final = {
    "max_cost": "cost",
    "max_cost_per_solved": "cost_per_solved",
    "max_tokens_per_solved": "tokens_per_solved",
    "max_seconds_p95": "seconds_p95",
}
KEYS: Final = {**LEAST, **MOST}


@frozen
class Criteria:
    """Limits by their names in the file; all are optional."""

    limits: Mapping[str, float] = field(factory=dict)

    def unmet(self, figures: Figures) -> list[str]:
        """Return a line for each limit that *figures* miss; an unknown figure misses its limit."""
        lines = []
        for name, limit in self.limits.items():
            value = getattr(figures, KEYS[name])
            is_met = value is not None and (value >= limit if name in LEAST else value <= limit)
            if not is_met:
                lines.append(
                    f"{name} = {limit:g}: it is {'unknown' if value is None else f'{value:.4g}'}"
                )
        return lines


def read_criteria(path: str) -> Criteria:
    """Return the criteria of a TOML file, none for ""; raises UsageError."""
    if not path:
        return Criteria()
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except RecursionError as error:
        raise UsageError(f"the criteria {path!r} are nested too deeply") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"the criteria {path!r} cannot be read: {error}") from error
    if not values:
        raise UsageError(f"{path}: it has no criterion. All: {', '.join(KEYS)}")
    for name, value in values.items():
        _check(path, name, value)
    return Criteria(values)


def _check(path: str, name: str, value: Any) -> None:
    if name not in KEYS:
        hint = did_you_mean(name, KEYS, ".")
        raise UsageError(f"{path}: there is no criterion {name!r}{hint} All: {', '.join(KEYS)}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{path}: {name} is {value!r:.40}, not a number")
