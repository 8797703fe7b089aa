"""The end of a run on one line: the reason if it was stopped, and its cost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nanocoder_ui_terminal.call_lines import duration
from nanocoder_ui_terminal.terminal import Terminal
from nanocoder_ui_terminal.text_lines import one_line

MAX_FILES: Final = 3
"""The summary of a run names at most this many changed files."""
NAME_COLUMNS: Final = 200
ENDINGS: Final = {
    "turn_limit": "stopped: turn limit reached",
    "budget": "stopped: budget used up",
    "loop": "stopped: the model repeated itself",
    "approval_needed": "stopped: a call needed approval, which could not be asked for here",
    "denied": "a rule denied a call",
    "interrupted": "interrupted",
}


def endings(report: Mapping[str, Any], *, errors: bool) -> Iterator[tuple[str, str]]:
    """Yield a text and its colour for each reason why the run did not simply end.

    With *errors* the message of a failed run is one of them.
    """
    error = report.get("error")
    ending = ENDINGS.get(report["stop_reason"], "")
    if ending and not error:
        yield ending, "yellow"
    if error and errors:
        yield error["message"], "red"


def run_summary(
    report: Mapping[str, Any], seconds: float, unchanged: str, folder: str, terminal: Terminal
) -> str:
    """Return turns, tokens, money, time and changed files of a run that took *seconds*.

    *unchanged* names what kept the run from changing anything, *folder* where the files are.
    """
    turns = report["turns"]
    words = [f"{turns} turn{'' if turns == 1 else 's'}", *_tokens(report["usage"])]
    if report["cost"]:
        words.append(f"${report['cost']:.4f}")
    words.append(duration(seconds))
    if report["files_changed"]:
        words.append(_describe_changes(report["files_changed"], folder))
    elif unchanged:
        words.append(f"{unchanged}: nothing was changed")
    elif not report["untracked"]:
        # A model may well claim otherwise; nothing records what a command did.
        words.append("no file was changed")
    return f" {terminal.sign('dot')} ".join(words)


def _tokens(usage: Mapping[str, Any]) -> Iterator[str]:
    if usage["input_tokens"] or usage["output_tokens"]:
        cached = usage["cache_read_tokens"]
        read = f" + {cached:,} cached" if cached else ""
        yield f"{usage['input_tokens']:,} in{read}, {usage['output_tokens']:,} out"


def _describe_changes(files: Sequence[str], folder: str) -> str:
    names = ", ".join(one_line(name, NAME_COLUMNS) for name in files[:MAX_FILES])
    more = f" and {len(files) - MAX_FILES} more" if len(files) > MAX_FILES else ""
    return f"changed {names}{more}{f' in {folder}' if folder else ''}"
