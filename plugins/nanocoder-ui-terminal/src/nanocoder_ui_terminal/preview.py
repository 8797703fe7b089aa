"""What a person sees before they answer: who wants to do what, where, and why they are asked."""

from typing import Final

from nanocoder import ApprovalRequest, Effect, Risk, for_terminal

from nanocoder_ui_terminal.lines import clipped, gaps_told, message_lines, one_line, shown_lines
from nanocoder_ui_terminal.terminal import Terminal

RISK_STYLES: Final = {Risk.SAFE: "green", Risk.MEDIUM: "yellow", Risk.DANGEROUS: "yellow"}
DOES: Final = (Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK)
LINES_AROUND: Final = 9
"""What stands above and below a preview."""
MIN_LINES: Final = 8
LEFT_OUT: Final = "[{:,} lines left out; s shows them]"


def question(request: ApprovalRequest, terminal: Terminal, limit: int = 0) -> tuple[str, bool]:
    """Return the header and the preview, and whether lines of it are left out.

    At most *limit* lines of the preview are shown; 0: as many as fit, -1: all.
    """
    bar = terminal.paint(terminal.sign("bar"), _style(request))
    lines = list(_preview(request, terminal))
    fits = limit or max(MIN_LINES, terminal.size[1] - LINES_AROUND)
    shown = lines if limit < 0 else clipped(lines, fits, terminal.paint(LEFT_OUT, "dim"))
    head = list(_header(request, terminal))
    text = "".join(f"{bar} {line}".rstrip() + "\n" for line in [*head, "", *shown])
    return text, shown != lines


def _header(request: ApprovalRequest, terminal: Terminal) -> list[str]:
    room = terminal.width - 2
    name = one_line(request.call.name, room)
    effects = ", ".join(one for one in DOES if one in request.effects) or "unknown effects"
    facts = f"{one_line(request.plugin or 'unknown plugin', 60)}, {request.risk}, {effects}"
    dot = terminal.sign("dot")
    lines = [
        f"{terminal.paint(name, 'bold', _style(request))} {terminal.paint(f'{dot} {facts}', 'dim')}"
    ]
    told = [f"in {request.cwd}" if request.cwd else "", request.reason]
    if request.steps:
        told.append(f"its steps: {', '.join(request.steps)}")
    for text in told:
        parts = message_lines(text, room) if text else ()
        lines += [terminal.paint(part, "dim") for part in parts]
    return lines


def _preview(request: ApprovalRequest, terminal: Terminal) -> list[str]:
    text = gaps_told(request.preview.rstrip("\n"))
    lines = list(shown_lines(text, terminal.width - 2, terminal))
    if for_terminal(text) != text:
        lines += ["", terminal.paint("[characters that hide or steer are shown as escapes]", "red")]
    return lines


def _style(request: ApprovalRequest) -> str:
    return RISK_STYLES.get(request.risk, "red")
