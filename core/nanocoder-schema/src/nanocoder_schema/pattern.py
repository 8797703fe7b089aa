"""Patterns of plugins, matched within bounds: some take years for thirty characters."""

import json
import re

MOST_STEPS = 10_000_000
"""What may be matched in this process: about a tenth of a second."""
CPU_S = 2
WALL_S = 20
"""For a child that gets no processor; what it may compute is CPU_S."""
_CHILD = f"""
import json, re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S}, {CPU_S}))
pattern, text = json.load(sys.stdin)
print(int(bool(re.search(pattern, text))))
"""


def matches(pattern: str, text: str) -> bool | None:
    """Tell whether *pattern* is found in *text*; None where that takes too long to find out.

    The engine of Python can be interrupted by nothing, so a process of its own takes what may be
    slow.
    """
    if _most_steps(pattern, len(text)) <= MOST_STEPS:
        return re.search(pattern, text) is not None
    return _matched_in_child(pattern, text)


def _most_steps(pattern: str, length: int) -> float:
    """Return a bound for the steps that the engine takes; infinity where there is none."""
    bare = re.sub(r"\\[1-9]", "(x)*", pattern)  # a reference back counts as the worst
    bare = re.sub(r"\\.", "x", bare)
    bare = re.sub(r"\[\^?\]?[^\]]*\]", "x", bare)
    if re.search(r"\)[*+{]", bare) or "(?" in bare.replace("(?:", ""):
        return float("inf")
    repeats = len(re.findall(r"[*+{]", bare))
    starts = 0 if bare.startswith("^") else 1
    return float(max(length, 1)) ** min(repeats + starts, 60)


def _matched_in_child(pattern: str, text: str) -> bool | None:
    import subprocess  # few patterns need it
    import sys

    try:
        child = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            input=json.dumps([pattern, text]),
            env={},
            capture_output=True,
            text=True,
            timeout=WALL_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    answer = child.stdout.strip()
    return answer == "1" if answer in {"0", "1"} else None
