"""Messages of the command line in the words of a conversation."""

import re
from typing import Final

HERE: Final = {
    "--model ": "/model ",
    "nanocoder config trust": "/trust",
    "nanocoder mcp review": "/mcp review",
}
CHOOSE_HERE: Final = "Then: /model PROVIDER/MODEL"


def use_chat_commands(text: str) -> str:
    """Return an error's *text* with the conversation's commands in place of the command line's."""
    text = re.sub(r" \(of --model [^)\n]*\)", "", text)
    text = re.sub(r"\nThen run the same command again.*", f"\n{CHOOSE_HERE}", text, flags=re.DOTALL)
    for words, here in HERE.items():
        text = text.replace(words, here)
    return text
