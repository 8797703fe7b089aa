"""Repeat the figures of docs/explanation/security.md that no test counts: `figures.py [READS]`.

Reads a file again and again while another process swaps its folder with a link to the outside, and
counts what of the outside came back.
"""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from nanocoder import ToolError, Workspace

SECRET = "outside"
SWAP = """
import ctypes, os, sys
renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
first, second = (os.fsencode(path) for path in sys.argv[1:])
exchange, here = 2, -100
while True:
    if renameat2(here, first, here, second, exchange) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""


def read_under_swaps(count: int, folder: Path) -> Counter[str]:
    """Return how often each text, or class of error, came back."""
    inside, outside = folder / "inside", folder / "outside"
    for place, text in ((inside / "d", "in"), (outside, SECRET)):
        place.mkdir(parents=True)
        (place / "f").write_text(text)
    (inside / "link").symlink_to(outside)
    command = [sys.executable, "-c", SWAP, str(inside / "d"), str(inside / "link")]
    outcomes = Counter[str]()
    with Workspace(inside) as workspace, subprocess.Popen(command) as swapper:
        for _ in range(count):
            try:
                outcomes[workspace.read_bytes("d/f").decode()] += 1
            except ToolError as error:
                outcomes[error.error_class] += 1
        is_swapping = swapper.poll() is None
        swapper.kill()
    if not is_swapping:
        raise RuntimeError("the swaps ended before the reads")
    return outcomes


def main(count: int) -> int:
    """Print the counts; 1 when anything leaked."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        outcomes = read_under_swaps(count, Path(name))
    print(f"{count:,} reads in {time.monotonic() - began:.0f} s:", dict(outcomes))
    print(f"{outcomes[SECRET]:,} leaks")
    return 1 if outcomes[SECRET] else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000))
