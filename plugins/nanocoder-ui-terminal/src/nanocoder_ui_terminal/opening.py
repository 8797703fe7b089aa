"""Opening the screen of a session on the terminal."""

import os

from nanocoder import SessionInfo

from nanocoder_ui_terminal.call_lines import Limits
from nanocoder_ui_terminal.screen import TextScreen
from nanocoder_ui_terminal.terminal import Terminal


def open_screen(info: SessionInfo, settings: Limits) -> TextScreen:
    """Return the screen of a session on the terminal of this process."""
    folder = str(info.cwd)
    elsewhere = os.path.realpath(folder) != os.path.realpath(os.curdir)
    return TextScreen(
        Terminal.of_process(),
        settings,
        unchanged=info.changes_nothing_by,
        folder=folder if elsewhere else "",
    )
