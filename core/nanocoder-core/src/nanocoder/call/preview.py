"""Previews: the effect of a call as a plugin renders it, for an approval or a dry run."""

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from nanocoder_schema import ToolError, clip

from nanocoder.cancel import Cancel, LateError, run_with_deadline
from nanocoder.hooks import dispatch
from nanocoder.hooks.dispatch import Implementation, Report
from nanocoder.plugins import Plugins
from nanocoder.tools.tool import ANY_TOOL, Tool
from nanocoder.values import ToolCall

if TYPE_CHECKING:
    from nanocoder_files import Snapshot

PREVIEW_TIMEOUT_S = 10.0
"""Seconds that plugins may take to render a preview; then the call's arguments are shown."""
LEAST_S: Final = 0.001
"""A deadline of 0 would be none."""
HEAD_CHARS, TAIL_CHARS = 24_000_000, 8_000_000
"""Characters shown of a longer preview: more than a model writes in one reply."""
DRY_RUN_RESULT: Final = (
    "Dry run: this was not done; the user is shown what it would do. Nothing has changed, so files"
    " have their old content. Go on with what is left of the task, and call each change once."
)


def is_performed(tool: Tool[..., Any], call: ToolCall) -> bool:
    """Return True if a dry run performs a call: it only reads, or only calls other tools."""
    only_calls = tool.only_reads is None and ANY_TOOL in tool.composed_of
    return only_calls or tool.certainly_reads(call.arguments)


class Preview(NamedTuple):
    """The effect of a call in plain text; with an *obstacle* the call cannot work.

    *snapshot* has the files from which the text was made.
    """

    text: str
    obstacle: ToolError | None
    snapshot: "Snapshot"


class Previews:
    """The previews of one session; thread-safe."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins
        self._hung: set[tuple[str, str]] = set()

    def preview(self, context: Mapping[str, Any], snapshot: "Snapshot", cancel: Cancel) -> Preview:
        """Return the first plugin's preview of a call within ten seconds; else its arguments.

        The tool's own plugin is asked in any case: its ToolError tells why the call cannot work. A
        plugin that times out is reported and not asked about this tool again. *snapshot* records
        the files. Raises: Cancelled.
        """
        call, tool = context["call"], context["tool"]
        # Before any plugin gets the arguments and may change them.
        arguments_text = "\n".join(f"{key}: {value}" for key, value in call.arguments.items())
        # One limit for all plugins together: a person waits for the sum.
        until = time.monotonic() + PREVIEW_TIMEOUT_S
        text: str | None = None
        obstacle: ToolError | None = None
        with snapshot.recording():
            for hook in self._plugins.implementations("nanocoder_render"):
                is_owner = hook.plugin == tool.plugin
                if (hook.plugin, tool.name) in self._hung or not (text is None or is_owner):
                    continue
                render = partial(_render, hook, self._plugins.report, context, is_owner=is_owner)
                try:
                    limit_s = max(LEAST_S, until - time.monotonic())
                    rendered, problem = run_with_deadline(render, limit_s, cancel)
                except LateError:
                    if (hook.plugin, tool.name) not in self._hung:
                        self._hung.add((hook.plugin, tool.name))
                        late = f"took longer than {PREVIEW_TIMEOUT_S:g} s and is left out for"
                        self._plugins.report(hook.error(f"{late} {tool.name} from now on"))
                    break
                text = rendered if text is None else text
                obstacle = problem or obstacle
        text = text or arguments_text
        if obstacle is not None:
            text = f"[this call will fail: {obstacle}]\n{text}"
        # A copy: a plugin that timed out may still read files.
        return Preview(clip(text, head=HEAD_CHARS, tail=TAIL_CHARS), obstacle, snapshot.copy())


def _render(
    hook: Implementation, report: Report, context: Mapping[str, Any], *, is_owner: bool
) -> tuple[str | None, ToolError | None]:
    """Return a plugin's preview of a call, and the ToolError that the tool's owner predicts."""
    [(_, text, error)] = dispatch.attempt_each([hook], lambda hook: hook(context, str))
    if error is not None:
        cause = error.__cause__
        if is_owner and isinstance(cause, ToolError) and _has_message(cause):
            return None, cause
        report(error)
    return text, None


def _has_message(error: ToolError) -> bool:
    """Return True if a plugin's error has a message that can be read."""
    try:
        return isinstance(str(error), str) and isinstance(error.error_class, str)
    except Exception:  # noqa: BLE001 - a plugin's code may do anything there
        return False
