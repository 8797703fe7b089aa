"""A conversation: `python -m s02`, in the directory to work in.

`MODEL_ID` names the model ("anthropic/…"); its key and its base URL come from the variables of its
provider, such as `ANTHROPIC_BASE_URL`.
"""

# ruff: noqa: T201 - a program that talks

import os
from typing import Any

from nanocoder import PersonError, open_session

from s02 import Model, Tools, agent_loop

PROMPT = "s02 >> "
SHOWN_CHARS = 200
LEAVE = ("", "q", "exit")


def main() -> None:
    """Talk until the person leaves: q, exit, an empty line, the end of input, Ctrl-C."""
    with open_session(model=os.environ.get("MODEL_ID", ""), interactive=True) as session:
        model, tools = Model(session), Tools(session)
        messages: list[dict[str, Any]] = []
        while (text := _read_input()) is not None:
            messages.append({"role": "user", "content": text})
            try:
                agent_loop(messages, model, tools.definitions, tools.handlers, _show)
            except (PersonError, KeyboardInterrupt) as error:
                print(error)
                return
            for block in messages[-1]["content"]:
                print(block["text"])


def _read_input() -> str | None:
    try:
        text = input(PROMPT).strip()
    except (EOFError, KeyboardInterrupt):
        print()
        return None
    return None if text.lower() in LEAVE else text


def _show(name: str, output: str) -> None:
    print(f"> {name}\n{output[:SHOWN_CHARS]}")


if __name__ == "__main__":
    main()
