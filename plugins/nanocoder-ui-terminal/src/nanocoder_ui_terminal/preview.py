"""The preview of a call that needs approval: which tool, what it does, where, and why it asks."""

from collections.abc import Iterable
from typing import Final

from nanocoder import Access, ApprovalRequest, Effect, Risk, for_terminal
from nanocoder_kit_files.redact import Redactor

from nanocoder_ui_terminal.granting import is_for_tool
from nanocoder_ui_terminal.invisible import escape_invisible, mark_gaps
from nanocoder_ui_terminal.look_alikes import look_alikes
from nanocoder_ui_terminal.terminal import Terminal
from nanocoder_ui_terminal.text_lines import (
    clip_middle,
    highlight_lines,
    is_diff,
    message_lines,
    one_line,
)

RISK_STYLES: Final = {Risk.SAFE: "green", Risk.MEDIUM: "yellow", Risk.DANGEROUS: "yellow"}
DOES: Final = (Effect.READ, Effect.WRITE, Effect.EXECUTE, Effect.NETWORK)
LINES_AROUND: Final = 10
"""The number of lines above and below a preview."""
MIN_LINES: Final = 8
LEFT_OUT: Final = "[{{:,}} lines left out; {} shows them]"
REACHES_OUT: Final = frozenset({Effect.EXECUTE, Effect.NETWORK})


def describe_request(
    request: ApprovalRequest,
    terminal: Terminal,
    limit: int = 0,
    sandbox: str | None = None,
    key: str = "s",
) -> tuple[str, bool]:
    """Return the header and the preview, and whether the preview leaves out lines.

    *sandbox* is what processes of tools run in: "" for none, None where that is unknown.
    At most *limit* lines of the preview are shown; 0: as many as fit. *key* shows the others.
    """
    lines = preview_lines(request, terminal)
    fits = limit or max(MIN_LINES, terminal.size[1] - LINES_AROUND)
    visible = clip_middle(lines, fits, terminal.paint(LEFT_OUT.format(key), "dim"))
    notes = _notes(request, terminal)
    # A call without arguments has nothing to show.
    body = ["", *visible] if any(map(str.strip, lines)) else []
    text = add_bar([*_header(request, terminal, sandbox), *body, *notes], request, terminal)
    return text, visible != lines


def add_bar(lines: Iterable[str], request: ApprovalRequest, terminal: Terminal) -> str:
    """Return *lines* with the bar at their left that marks a question."""
    bar = terminal.paint(terminal.sign("bar"), _style(request))
    return "".join(f"{bar} {line}".rstrip() + "\n" for line in lines)


def _header(request: ApprovalRequest, terminal: Terminal, sandbox: str | None) -> list[str]:
    room = terminal.width - 2
    name = one_line(request.call.name, room)
    effects = ", ".join(effect for effect in DOES if effect in request.effects) or "unknown effects"
    # The reason of a mode says it already: "bash is rated dangerous, so …".
    risk = "" if f" rated {request.risk}, " in request.reason else f"{request.risk}, "
    rating = f"{one_line(request.plugin or 'unknown plugin', 60)}, {risk}{effects}"
    rating = f"{terminal.sign('dot')} {rating}"
    is_wide = len(name) + len(rating) >= room
    name = terminal.paint(name, "bold", _style(request))
    lines = [name if is_wide else f"{name} {terminal.paint(rating, 'dim')}"]
    facts = [rating] if is_wide else []
    where = [f"in {request.cwd}" if request.cwd else "", _sandbox(request, sandbox)]
    together = ", ".join(filter(None, where))
    facts += [together] if len(together) <= room else where
    facts.append(_without_secrets(request.reason))
    if request.steps:
        facts.append(f"its steps: {', '.join(request.steps)}")
    for text in facts:
        parts = message_lines(escape_invisible(text), room) if text else ()
        lines += [terminal.paint(part, "dim") for part in parts]
    return lines


def _sandbox(request: ApprovalRequest, name: str | None) -> str:
    """Name the sandbox of a call's processes, "" for a call that starts none."""
    if name is None or (request.effects and Effect.EXECUTE not in request.effects):
        return ""
    if name and request.access is Access.OUTSIDE:
        return "outside of the sandbox, with your rights"
    return f"in the sandbox {name}" if name else "without a sandbox"


def preview_lines(request: ApprovalRequest, terminal: Terminal) -> list[str]:
    """Return everything that the call would do."""
    text = escape_invisible(_without_secrets(_text(request)))
    return list(highlight_lines(text, terminal.width - 2, terminal))


def _without_secrets(text: str) -> str:
    """Return *text* as it may stand on a screen, which others see and which terminals keep."""
    return Redactor().redact(text)


def _text(request: ApprovalRequest) -> str:
    text = request.preview.removesuffix("\n")
    return mark_gaps(text, is_diff=is_diff(text))


def _notes(request: ApprovalRequest, terminal: Terminal) -> list[str]:
    """Return warnings; they are below the preview, where no clipping removes them."""
    text, room = _text(request), terminal.width - 2
    warnings = []
    if for_terminal(escape_invisible(text)) != text:
        warnings.append("[characters that hide or steer are shown as escapes]")
    if request.effects & REACHES_OUT:
        warnings += look_alikes(request.preview)
    lines = [part for warning in warnings for part in message_lines(warning, room)]
    lines = [terminal.paint(line, "red") for line in lines]
    if consent := _consent(request):
        rows = message_rows([consent], room)
        lines += ["", *(terminal.paint(line, "dim") for line in rows)]
    return ["", *lines] if warnings else lines


def _consent(request: ApprovalRequest) -> str:
    """Return the effect of the answer "a" beyond this call."""
    if is_for_tool(request):
        return f"a grants {request.call.name} for the session: any arguments, or exactly these"
    if request.grants:
        rules = ", ".join(request.grants)
        where = ", outside of the sandbox" if request.access is Access.OUTSIDE else ""
        return f"a grants {rules}{where}: for the session, the project or everywhere"
    return f"a allows {request.always}" if request.always else ""


def message_rows(texts: Iterable[str], columns: int) -> list[str]:
    """Return messages as safe lines with what is invisible in them as escapes."""
    return [line for text in texts for line in message_lines(escape_invisible(text), columns)]


def _style(request: ApprovalRequest) -> str:
    return RISK_STYLES.get(request.risk, "red")
