"""The path of a call stays short: how many of our functions stand above a handler."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import nanocoder
from nanocoder import Effect, tool
from nanocoder_testing import play

MAX_FRAMES = 11
"""From `Session.run` to the handler, on both threads; this number may only shrink."""


def own_frames(frame: FrameType | None) -> Iterator[str]:
    """Yield the names of nanocoder's own functions on a stack, the innermost first."""
    root = str(Path(nanocoder.__file__).parent)
    while frame is not None:
        if frame.f_code.co_filename.startswith(root):
            yield f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}"
        frame = frame.f_back


def test_few_functions_stand_between_a_run_and_a_handler(tmp_path):
    names: list[str] = []
    main = threading.main_thread().ident

    @tool(risk="safe", effects={Effect.READ})
    def look() -> str:
        """Look at the stacks."""
        # The main thread may still be starting this one.
        while (waiting := sys._current_frames()[main]).f_code.co_name != "events":
            time.sleep(0.001)
        names.extend([*own_frames(sys._getframe()), *own_frames(waiting)])
        return "looked"

    class Tools:
        @nanocoder.hookimpl
        def nanocoder_tools(self):
            return [look]

    play(tmp_path, [[("look", {})], "Done."], plugins={"tools": Tools()})
    assert len(names) <= MAX_FRAMES, "\n".join(names)
