"""Count the instructions of one prompt beside those of the httpx floor, under valgrind.

    python tests/bench/instructions.py [--bin DIR]

Unlike times, they hardly depend on what else the machine does; what the kernel does is not counted.
The environment in DIR has nanocoder installed from its wheels and nothing beside it.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measure import HERE, Bench, serving

# Under valgrind a reply takes seconds, and imports ahead of the first call would be counted, too.
ALONE = """
import sys
import nanocoder.cancel
nanocoder.cancel.IDLE_S = 600
del sys.argv[0]
from nanocoder.cli import main
main()
"""


def count(bench: Bench, command: Sequence[str]) -> int:
    """Return how many instructions *command* takes; raises SystemExit when it fails."""
    with tempfile.NamedTemporaryFile() as profile:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile.name}"]
        done = subprocess.run(
            [*tool, *command],
            cwd=bench.work,
            env={**bench.environment, "PYTHONHASHSEED": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or collected is None:
        raise SystemExit(f"{' '.join(command)[:200]} failed: {done.stderr[-2000:]}")
    return int(collected[1])


def main() -> None:
    """Count both and print the ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, serving([{"text": "Hello."}]) as server:
        bench = Bench(options.bin, 1, Path(scratch))
        bench.work.mkdir()
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
        floor = [bench.python, str(HERE / "floor.py"), url, "go"]
        ours = bench.ask(server.port)
        for command in (ours, floor, ours):  # what the first start caches is there for the next
            bench.once(*command)
        counts = [count(bench, floor), count(bench, [bench.python, "-c", ALONE, *ours])]
    for name, instructions in zip(("the httpx floor", "one prompt"), counts, strict=True):
        print(f"{name:16} {instructions / 1e6:7.0f} million instructions")
    print(f"{'ratio':16} {counts[1] / counts[0]:7.3f}")


if __name__ == "__main__":
    main()
