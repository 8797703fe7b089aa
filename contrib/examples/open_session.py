"""Use nanocoder from Python: a session, its events, a policy and consent of your own.

The model is a script here, so that the example runs anywhere; without `plugins` and `model`,
`open_session` uses what is installed and configured.
"""

# ruff: noqa: INP001, T201 - a script that shows what happens

import tempfile
from pathlib import Path
from typing import Annotated

from nanocoder import (
    ApprovalAnswer,
    ApprovalRequest,
    Effect,
    Plugins,
    ToolContext,
    hookimpl,
    open_session,
    tool,
)
from nanocoder_testing import Scripted


@tool(risk="medium", effects={Effect.WRITE})
def note(ctx: ToolContext, text: Annotated[str, "What to write down."]) -> str:
    """Write a line into notes.txt."""
    ctx.workspace.write_text("notes.txt", f"{text}\n")
    return "noted"


class Notes:
    """A plugin need not be a package: any object with hooks will do."""

    @hookimpl
    def nanocoder_tools(self) -> list[object]:
        """Offer note."""
        return [note]


def consent(request: ApprovalRequest) -> ApprovalAnswer:
    """Answer for a person; the answer echoes what was asked."""
    print(f"asked: {request.call.name}: {request.preview}")
    return ApprovalAnswer(request.id, request.digest, approved=True)


def main() -> None:
    """Play two turns and show what comes of them."""
    plugins = Plugins()
    plugins.add(Notes(), "notes")
    plugins.add(Scripted([[("note", {"text": "buy milk"})], "I wrote it down."]), "script")
    with tempfile.TemporaryDirectory() as folder:
        options = {"plugins": plugins, "model": "script/play", "approve": consent, "persist": False}
        with open_session(folder, **options) as session:
            for event in session.run("Remember the milk."):
                if event.kind == "call.returned":
                    print(f"{event.data['tool']}: {event.data['output']}")
            print(session.report.text)
        print(Path(folder, "notes.txt").read_text(), end="")


if __name__ == "__main__":
    main()
