"""Play two prompts in this process and print what the second one holds in memory, as JSON.

The first prompt imports and compiles what every prompt needs.
"""

import json
import tracemalloc

import nanocoder

READINGS = 20
"""How often the memory is read during the reply; each reading costs time."""


def main() -> None:
    """Print the figures that `streaming.held` describes."""
    with nanocoder.open_session(".", model="openai/m", mode="auto") as session:
        for _ in session.run("Say hello."):
            pass
        tracemalloc.start()
        readings = []
        size = pieces = 0
        for event in session.run("Write at length."):
            if event.kind == "text":
                size += len(event.data["text"])
                pieces += 1
                readings.append((size, tracemalloc.get_traced_memory()[0] - size))
        peak = tracemalloc.get_traced_memory()[1]
    quarter = next(beside for so_far, beside in readings if so_far >= size / 4)
    print(json.dumps({"text": size, "quarter": quarter, "end": readings[-1][1], "peak": peak}))


if __name__ == "__main__":
    main()
