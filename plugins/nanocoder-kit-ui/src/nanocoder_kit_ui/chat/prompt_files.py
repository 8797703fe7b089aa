"""The files that the model reads with each prompt, in one line."""

import os
from typing import TYPE_CHECKING

from nanocoder import counted, for_terminal
from nanocoder_kit_sessions.context import prompt_files

if TYPE_CHECKING:
    from nanocoder import Session


def prompt_files_line(session: "Session") -> str:
    """Name the files that the model reads with each prompt, and their tokens; "" for none."""
    folder = f"{session.info.cwd}{os.sep}"
    files = [
        f"{for_terminal(file.name.removeprefix(folder))} ({counted(file.tokens, 'token')})"
        for file in prompt_files(session)
    ]
    return f"The model reads {', '.join(files)}" if files else ""
