"""What a plugin says a call would do, before a person is asked: it may hold nobody up."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen
from nanocoder_schema import Shown, Value

from nanocoder.cancel import Cancel
from nanocoder.errors import PluginError, ToolError
from nanocoder.hooks import styles
from nanocoder.hooks.styles import Implementation, Report
from nanocoder.text import clip

if TYPE_CHECKING:
    from nanocoder_files import Snapshot

PREVIEW_TIMEOUT_S = 10.0
"""How long plugins may take to render what a call would do; then its arguments are shown."""
HEAD_CHARS, TAIL_CHARS = 24_000_000, 8_000_000
"""What is kept of a longer preview: more than a model writes in one reply."""


@frozen(eq=False, repr=False)
class Preview(Value):
    """What a call would do, in plain text; *obstacle* is why it cannot, and then *text* says so.

    *snapshot* is of the files that the text was made from.
    """

    text: str
    obstacle: ToolError | None = None
    snapshot: "Snapshot | None" = None


@define(eq=False, repr=False)
class _PreviewRequest(Shown):
    """One preview that plugins on another thread are asked for."""

    implementations: Sequence[Implementation]
    report: Report
    arguments: Mapping[str, Any]
    snapshot: "Snapshot"
    asked: list[Implementation] = field(factory=list)
    text: str | None = None
    obstacle: ToolError | None = None
    failed: BaseException | None = None
    over: threading.Event = field(factory=threading.Event)

    def work(self) -> None:
        """Hear the plugins, until one has answered: the tool's own is heard in any case."""
        try:
            with self.snapshot.recording():
                for one in self._each():
                    text = self._heard(one)
                    self.text = text if self.text is None else self.text
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it again
            self.failed = error
        finally:
            self.over.set()

    def _each(self) -> Iterator[Implementation]:
        for one in self.implementations:
            if not self.over.is_set() and (self.text is None or self._is_owner(one)):
                self.asked.append(one)
                yield one

    def _is_owner(self, one: Implementation) -> bool:
        return bool(one.plugin == self.arguments["tool"].plugin)

    def _heard(self, one: Implementation) -> str | None:
        obstacles: list[ToolError] = []

        def report(error: PluginError) -> None:
            cause = error.__cause__
            if isinstance(cause, ToolError) and self._is_owner(one) and _can_be_told(cause):
                obstacles.append(cause)
            else:
                self.report(error)

        text = styles.choose([one], report, self.arguments, str)
        self.obstacle = obstacles[0] if obstacles else self.obstacle
        return text


def _can_be_told(error: ToolError) -> bool:
    """Tell whether a plugin's own kind of error can say what it is."""
    try:
        return isinstance(str(error), str) and isinstance(error.error_class, str)
    except Exception:  # noqa: BLE001 - whatever a plugin's code does there
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

        Plugins render on a thread of their own, which is left behind when the time is over or
        *cancel* is set. The one that took so long is reported, and asked no more about this tool.
        A ToolError of the tool's own plugin is why the call cannot work. Raises: Cancelled.
        """
        from nanocoder_files import Snapshot  # few calls need it

        call, tool = arguments["call"], arguments["tool"]
        # Before any plugin has the arguments and may change them.
        written = "\n".join(f"{key}: {value}" for key, value in call.arguments.items())
        heard = [one for one in implementations if (one.plugin, tool.name) not in self._hung]
        request = _PreviewRequest(heard, report, arguments, Snapshot())
        if heard:
            self._wait(request, tool.name, cancel)
        # Whoever is late may still answer, between these lines too.
        text, obstacle = request.text, request.obstacle
        text = text or written
        if obstacle is not None:
            text = f"[this call will fail: {obstacle}]\n{text}"
        text = clip(text, head=HEAD_CHARS, tail=TAIL_CHARS)
        return Preview(text, obstacle, request.snapshot.copy())

    def _wait(self, request: _PreviewRequest, tool: str, cancel: Cancel) -> None:
        threading.Thread(target=request.work, name="nanocoder-render", daemon=True).start()
        forget = cancel.on_set(request.over.set)
        in_time = request.over.wait(PREVIEW_TIMEOUT_S)
        request.over.set()
        forget()
        cancel.check()
        if request.failed is not None:
            raise request.failed
        if not in_time and request.asked:
            self._leave_out(request.asked[-1], tool, request.report)

    def _leave_out(self, late: Implementation, tool: str, report: Report) -> None:
        with self._lock:
            if (late.plugin, tool) in self._hung:
                return
            self._hung.add((late.plugin, tool))
        said = f"took longer than {PREVIEW_TIMEOUT_S:g} s and is left out for {tool} from now on"
        report(late.error(said))
