"""Try whether the program of a sandbox works here; it says why it does not."""

import subprocess
from collections.abc import Mapping, Sequence


def problem_of(
    name: str, argv: Sequence[str], environment: Mapping[str, str], limit_s: float
) -> str:
    """Run *argv* without input; return the last line of its errors if it fails, or ""."""
    try:
        process = subprocess.run(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name} did not answer: {error}"
    lines = process.stderr.decode("utf-8", "replace").strip().splitlines() or ["it failed"]
    return f"{name}: {lines[-1]}" if process.returncode else ""
