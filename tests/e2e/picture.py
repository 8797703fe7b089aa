"""Draw docs/picture.svg: a session in a real terminal, typed by tmux, answered from a script."""

import json
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/picture.svg"
COLUMNS, LINES = 100, 32
STILL_S = 3.0
DEADLINE_S = 60.0
PROMPT = "Write greet.py with a greet(name) function"
CODE = 'def greet(name: str) -> str:\n    return f"Hello, {name}!"\n'
SCRIPT = {
    "turns": [
        {"calls": [{"name": "list_files", "arguments": {"path": "."}}]},
        {"calls": [{"name": "write_file", "arguments": {"path": "greet.py", "content": CODE}}]},
        {"text": "`greet.py` has a function `greet(name)` that returns the greeting."},
    ]
}


def tmux(socket: str, *arguments: str) -> str:
    """Run one tmux command on a server of our own."""
    command = ["tmux", "-L", socket, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def still_screen(socket: str) -> str:
    """Return the screen, colours and all, once it has stopped changing."""
    end = time.monotonic() + DEADLINE_S
    screen, since = "", time.monotonic()
    while time.monotonic() < end:
        now = tmux(socket, "capture-pane", "-e", "-p")
        if now != screen:
            screen, since = now, time.monotonic()
        elif screen.strip() and time.monotonic() - since > STILL_S:
            return screen
        time.sleep(0.2)
    raise TimeoutError(f"the screen did not come to rest within {DEADLINE_S:.0f} s")


def record() -> str:
    """Return the last screen of a session."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.json")
        script.write_text(json.dumps(SCRIPT), encoding="utf-8")
        Path(folder, "home").mkdir()
        Path(folder, "work").mkdir()
        socket = f"nanocoder-{Path(folder).name}"
        shell = f"cd {folder}/work && HOME={folder}/home nanocoder --mode edits"
        command = f"{shell} --model scripted/{script}; sleep {DEADLINE_S:.0f}"
        tmux(socket, "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), command)
        try:
            still_screen(socket)
            tmux(socket, "send-keys", PROMPT, "Enter")
            return still_screen(socket)
        finally:
            tmux(socket, "kill-server")


def draw(screen: str) -> None:
    """Write the screen as a picture."""
    import io

    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip()))
    console.save_svg(str(PICTURE), title="nanocoder")


if __name__ == "__main__":
    draw(record())
