"""Match the patterns of plugins within bounds: some take years for thirty characters."""

import json
import re

MOST_STEPS = 10_000_000
"""The limit for matching in this process: about a tenth of a second."""
CPU_S = 2
WALL_S = 20
"""The limit for a child that gets no processor; CPU_S limits its computing."""
_CHILD = f"""
import json, re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S}, {CPU_S}))
pattern, text = json.load(sys.stdin)
print(int(bool(re.search(pattern, text))))
"""


def matches(pattern: str, text: str) -> bool | None:
    """Tell whether *pattern* occurs in *text*; None where that takes too long to find out.

    Nothing interrupts Python's engine, so matches that may be slow run in a process of their own.
    """
    if _most_steps(pattern, len(text)) <= MOST_STEPS:
        return re.search(pattern, text) is not None
    return _match_in_child(pattern, text)


def _most_steps(pattern: str, length: int) -> float:
    """Return a bound for the steps that the engine takes; infinity where there is none."""
    plain = re.sub(r"\\[1-9]", "(x)*", pattern)  # a back reference counts as the worst case
    plain = re.sub(r"\\.", "x", plain)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", plain)
    if re.search(r"\)[*+{]", plain) or "(?" in plain.replace("(?:", ""):
        return float("inf")
    repeats = len(re.findall(r"[*+{]", plain))
    starts = 0 if plain.startswith("^") else 1
    return float(max(length, 1)) ** min(repeats + starts, 60)


def _match_in_child(pattern: str, text: str) -> bool | None:
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
