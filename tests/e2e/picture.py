"""Draw docs/picture.svg: a small task in a real terminal, approved and answered."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs/picture.svg"
COLUMNS, LINES = 84, 48
STILL_S = 1.0
DEADLINE_S = 180.0
PROMPT = 'slug("Hello  World") has two dashes. Fix it and run the test.'
QUESTION = "Approve?"
PROMPT_SIGN = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
OLD = 'title.lower().replace(" ", "-")'
NEW = '"-".join(title.lower().split())'
FILES = {
    "slug.py": f"def slug(title):\n    return {OLD}\n",
    "test_slug.py": (
        'from slug import slug\n\nassert slug("Hello  World") == "hello-world"\n'
        'print("1 test passed")\n'
    ),
}
TURNS = [
    {"calls": [{"name": "read_file", "arguments": {"path": "slug.py"}}]},
    {
        "text": "`replace` makes a dash of each blank. I join the words instead.",
        "calls": [
            {
                "name": "edit_file",
                "arguments": {"path": "slug.py", "old_string": OLD, "new_string": NEW},
            }
        ],
    },
    {"calls": [{"name": "bash", "arguments": {"command": "python3 test_slug.py"}}]},
    {"text": 'Fixed: `slug("Hello  World")` is now `hello-world`, and the test passes.'},
]


def tmux(socket: str, *arguments: str) -> str:
    """Run one tmux command on a server of our own."""
    command = ["tmux", "-L", socket, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def screen_with(socket: str, text: str) -> str:
    """Return the screen, colours and all, once *text* is on it and nothing moves."""
    end = time.monotonic() + DEADLINE_S
    screen, since = "", time.monotonic()
    while time.monotonic() < end:
        now = tmux(socket, "capture-pane", "-e", "-p")
        if now != screen:
            screen, since = now, time.monotonic()
        elif text in screen and time.monotonic() - since > STILL_S:
            return screen
        time.sleep(0.1)
    raise TimeoutError(f"{text!r} did not appear within {DEADLINE_S:.0f} s")


def leave(socket: str) -> None:
    """End the conversation, and wait until nanocoder writes nothing to its folders any more."""
    tmux(socket, "send-keys", "C-d")
    end = time.monotonic() + DEADLINE_S
    while tmux(socket, "display-message", "-p", "#{pane_current_command}").strip() != "sleep":
        if time.monotonic() > end:
            raise TimeoutError("nanocoder did not leave")
        time.sleep(0.1)


def record() -> str:
    """Return what a session shows, up to the prompt that waits for the next request."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "blog")
        project.mkdir()
        for name, content in FILES.items():
            (project / name).write_text(content, encoding="utf-8")
        (project / "demo.json").write_text(json.dumps({"turns": TURNS}), encoding="utf-8")
        socket = f"nanocoder-{Path(folder).name}"
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = f"env -i HOME={folder} PATH={path} TERM=$TERM LANG=C.UTF-8"
        nanocoder = "nanocoder --model scripted/demo.json"
        command = f"cd {project} && {environment} {nanocoder}; sleep {DEADLINE_S:.0f}"
        size = ("-x", str(COLUMNS), "-y", str(LINES))
        tmux(socket, "-f", os.devnull, "new-session", "-d", *size, command)
        try:
            screen_with(socket, "/help")
            tmux(socket, "send-keys", PROMPT, "Enter")
            screen_with(socket, QUESTION)
            tmux(socket, "send-keys", "y", "Enter")
            shown = screen_with(socket, "turns ·").replace(folder, "~").splitlines()
            leave(socket)
        finally:
            tmux(socket, "kill-server")
    last = max(number for number, line in enumerate(shown) if PROMPT_SIGN in line)
    return "\n".join(shown[:last]).rstrip()


def drawn(screen: str) -> str:
    """Return the screen as a picture."""
    import io

    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen))
    svg = console.export_svg(title="nanocoder", unique_id="nanocoder")
    svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1)
    # The picture must fetch nothing: the reader's own monospaced font will do.
    return re.sub(r"@font-face\s*{.*?}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    PICTURE.write_text(drawn(record()), encoding="utf-8")
