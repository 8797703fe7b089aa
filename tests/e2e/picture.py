"""Draw docs/picture.svg: the embedded model in a real terminal, asked, approved and answered."""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/picture.svg"
COLUMNS, LINES = 96, 28
STILL_S = 4.0
DEADLINE_S = 180.0
MODEL = "local/qwen2.5-coder-1.5b"
PROMPT = "Create a file called greet.py with a greet(name) function"
QUESTION = "Approve?"


def tmux(socket: str, *arguments: str) -> str:
    """Run one tmux command on a server of our own."""
    command = ["tmux", "-L", socket, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def screen_with(socket: str, text: str) -> str:
    """Return the screen, colours and all, once it has *text* on it and stands still."""
    end = time.monotonic() + DEADLINE_S
    screen, since = "", time.monotonic()
    while time.monotonic() < end:
        now = tmux(socket, "capture-pane", "-e", "-p")
        if now != screen:
            screen, since = now, time.monotonic()
        elif text in screen and time.monotonic() - since > STILL_S:
            return screen
        time.sleep(0.2)
    raise TimeoutError(f"{text!r} did not appear within {DEADLINE_S:.0f} s")


def record() -> str:
    """Return the last screen of a session."""
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("home", "greetings"):
            Path(folder, name).mkdir()
        socket = f"nanocoder-{Path(folder).name}"
        # The cache is the person's own: it holds the weights, put together once.
        shell = f"cd {folder}/greetings && HOME={folder}/home XDG_CACHE_HOME={cache}"
        command = f"{shell} nanocoder --model {MODEL}; sleep {DEADLINE_S:.0f}"
        tmux(socket, "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), command)
        try:
            screen_with(socket, "/help")
            tmux(socket, "send-keys", PROMPT, "Enter")
            screen_with(socket, QUESTION)
            tmux(socket, "send-keys", "y", "Enter")
            return screen_with(socket, "turns ·").replace(folder, "~")
        finally:
            tmux(socket, "kill-server")


def draw(screen: str) -> None:
    """Write the screen as a picture."""
    import io

    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip()))
    drawn = console.export_svg(title="nanocoder")
    # The picture shall fetch nothing: the reader's own monospaced font will do.
    drawn = re.sub(r"@font-face\s*{.*?}\s*", "", drawn, flags=re.DOTALL)
    PICTURE.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    draw(record())
