"""Previews: a plugin says what a call would do, before a person is asked or instead of doing it."""

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import field
from nanocoder_schema import Shown, Value, lazy_define, lazy_frozen

from nanocoder.cancel import Cancel
from nanocoder.deadline import LateError, run_with_deadline
from nanocoder.errors import PluginError, ToolError
from nanocoder.hooks import styles
from nanocoder.hooks.styles import Implementation, Report
from nanocoder.text import clip
from nanocoder.tools.tool import ANY_TOOL, Tool

if TYPE_CHECKING:
    from nanocoder_files import Snapshot

PREVIEW_TIMEOUT_S = 10.0
"""How long plugins may take to render what a call would do; then its arguments are shown."""
HEAD_CHARS, TAIL_CHARS = 24_000_000, 8_000_000
"""How much of a longer preview is shown: more than a model writes in one reply."""
DRY_RUN_RESULT: Final = (
    "Dry run: this was not done; the user is shown what it would do. Nothing has changed, so files"
    " have their old content. Go on with what is left of the task, and call each change once."
)


def is_performed(tool: Tool[..., Any], arguments: Mapping[str, Any]) -> bool:
    """Tell whether a dry run performs a call: it reads, or does nothing but call other tools."""
    if tool.is_read_only:
        return True
    if tool.only_reads is None:
        return ANY_TOOL in tool.composed_of
    try:
        return bool(tool.only_reads(arguments))
    except Exception:  # noqa: BLE001 - a tool that cannot tell may change something
        return False


@lazy_frozen
class Preview(Value):
    """The effect of a call in plain text; *obstacle* is why it cannot, and then *text* says so.

    *snapshot* is of the files that the text was made from.
    """

    text: str
    obstacle: ToolError | None = None
    snapshot: "Snapshot | None" = None


@lazy_define
class _PreviewRequest(Shown):
    """One preview that plugins on another thread are asked for."""

    implementations: Sequence[Implementation]
    report: Report
    arguments: Mapping[str, Any]
    snapshot: "Snapshot"
    consulted: list[Implementation] = field(factory=list)
    text: str | None = None
    obstacle: ToolError | None = None
    is_over: bool = False

    def render(self) -> None:
        """Ask the plugins until one has answered; the tool's own plugin is asked in any case."""
        with self.snapshot.recording():
            for implementation in self.implementations:
                if not self.is_over and (self.text is None or self._is_owner(implementation)):
                    self.consulted.append(implementation)
                    text = self._rendered(implementation)
                    self.text = text if self.text is None else self.text

    def _is_owner(self, implementation: Implementation) -> bool:
        return bool(implementation.plugin == self.arguments["tool"].plugin)

    def _rendered(self, implementation: Implementation) -> str | None:
        obstacles: list[ToolError] = []

        def report(error: PluginError) -> None:
            cause = error.__cause__
            is_own = self._is_owner(implementation)
            if is_own and isinstance(cause, ToolError) and _has_message(cause):
                obstacles.append(cause)
            else:
                self.report(error)

        text = styles.choose([implementation], report, self.arguments, str)
        self.obstacle = obstacles[0] if obstacles else self.obstacle
        return text


def _has_message(error: ToolError) -> bool:
    """Tell whether a plugin's own kind of error can say what it is."""
    try:
        return isinstance(str(error), str) and isinstance(error.error_class, str)
    except Exception:  # noqa: BLE001 - a plugin's code may do anything there
        return False


class Previews:
    """The previews of one session; any thread may ask for one."""

    def __init__(self) -> None:
        self._hung: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def preview(
        self,
        implementations: Sequence[Implementation],
        report: Report,
        arguments: Mapping[str, Any],
        cancel: Cancel,
    ) -> Preview:
        """Return what the plugins say of a call within ten seconds; else its arguments.

        A plugin that takes so long is reported, and not asked about this tool again. A ToolError of
        the tool's own plugin is why the call cannot work. Raises: Cancelled.
        """
        from nanocoder_files import Snapshot  # few calls need it

        call, tool = arguments["call"], arguments["tool"]
        # Before any plugin has the arguments and may change them.
        arguments_text = "\n".join(f"{key}: {value}" for key, value in call.arguments.items())
        able = [hook for hook in implementations if (hook.plugin, tool.name) not in self._hung]
        request = _PreviewRequest(able, report, arguments, Snapshot())
        try:
            if able:
                run_with_deadline(request.render, PREVIEW_TIMEOUT_S, cancel)
        except LateError:
            if request.consulted:
                self._leave_out(request.consulted[-1], tool.name, report)
        finally:
            request.is_over = True
        # A plugin that is late may still answer, between these lines too.
        text, obstacle = request.text, request.obstacle
        text = text or arguments_text
        if obstacle is not None:
            text = f"[this call will fail: {obstacle}]\n{text}"
        text = clip(text, head=HEAD_CHARS, tail=TAIL_CHARS)
        return Preview(text, obstacle, request.snapshot.copy())

    def _leave_out(self, late: Implementation, tool: str, report: Report) -> None:
        with self._lock:
            if (late.plugin, tool) in self._hung:
                return
            self._hung.add((late.plugin, tool))
        problem = f"took longer than {PREVIEW_TIMEOUT_S:g} s and is left out for {tool} from now on"
        report(late.error(problem))
