"""What a person sees before they answer: who wants to do what, where, and why they are asked."""

from collections.abc import Iterable
from typing import Final

from nanocoder import ApprovalRequest, Effect, Risk, for_terminal

from nanocoder_ui_terminal.hosts import look_alikes
from nanocoder_ui_terminal.ink import gaps_told, inked
from nanocoder_ui_terminal.lines import clipped, is_diff, message_lines, one_line, shown_lines
from nanocoder_ui_terminal.terminal import Terminal

RISK_STYLES: Final = {Risk.SAFE: "green", Risk.MEDIUM: "yellow", Risk.DANGEROUS: "yellow"}
DOES: Final = (Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK)
LINES_AROUND: Final = 10
"""What stands above and below a preview."""
MIN_LINES: Final = 8
LEFT_OUT: Final = "[{:,} lines left out; s shows them]"
REACHES_OUT: Final = frozenset({Effect.EXECUTE, Effect.NETWORK})


def question(request: ApprovalRequest, terminal: Terminal, limit: int = 0) -> tuple[str, bool]:
    """Return the header and the preview, and whether lines of it are left out.

    At most *limit* lines of the preview are shown; 0: as many as fit.
    """
    lines = preview_lines(request, terminal)
    fits = limit or max(MIN_LINES, terminal.size[1] - LINES_AROUND)
    shown = clipped(lines, fits, terminal.paint(LEFT_OUT, "dim"))
    notes = _notes(request, terminal)
    text = barred([*_header(request, terminal), "", *shown, *notes], request, terminal)
    return text, shown != lines


def barred(lines: Iterable[str], request: ApprovalRequest, terminal: Terminal) -> str:
    """Return *lines* with the bar at their left that marks what is asked about."""
    bar = terminal.paint(terminal.sign("bar"), _style(request))
    return "".join(f"{bar} {line}".rstrip() + "\n" for line in lines)


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
        parts = message_lines(inked(text), room) if text else ()
        lines += [terminal.paint(part, "dim") for part in parts]
    return lines


def preview_lines(request: ApprovalRequest, terminal: Terminal) -> list[str]:
    """Return all of what the call would do."""
    text = inked(_text(request))
    return list(shown_lines(text, terminal.width - 2, terminal))


def _text(request: ApprovalRequest) -> str:
    text = request.preview.removesuffix("\n")
    return gaps_told(text, is_diff=is_diff(text))


def _notes(request: ApprovalRequest, terminal: Terminal) -> list[str]:
    """Return what a person should know besides; it is below the preview, whatever is cut."""
    text, room = _text(request), terminal.width - 2
    warnings = []
    if for_terminal(inked(text)) != text:
        warnings.append("[characters that hide or steer are shown as escapes]")
    if request.effects & REACHES_OUT:
        warnings += look_alikes(request.preview)
    lines = [part for warning in warnings for part in message_lines(warning, room)]
    lines = [terminal.paint(line, "red") for line in lines]
    if request.always:
        always = message_lines(f"a allows {request.always}", room)
        lines += ["", *(terminal.paint(line, "dim") for line in always)]
    return ["", *lines] if warnings else lines


def _style(request: ApprovalRequest) -> str:
    return RISK_STYLES.get(request.risk, "red")
