"""Profiles: the purpose of a sub-agent, and its tools."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from attrs import frozen
from nanocoder import Mode, Tool, ToolError

INTRODUCTION = (
    "You are a sub-agent. Another agent gave you the task below and reads your last message only:"
    " answer with the result itself, with paths and line numbers where they help."
)
OUR_TOOLS = ("task", "task_result")


@frozen
class Profile:
    """One profile; policies identify its sub-agents by its name.

    *mode*: they get the session's mode, or this one if it is stricter ("": always the session's).
    *tools*: their tools, as names or globs; empty: all. *without*: tools that they do not get.
    *model*: "provider/model"; empty: the setting of the plugin, or the session's. *instructions*:
    text before their task.
    """

    mode: str = ""
    tools: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    model: str = ""
    instructions: str = ""

    def __attrs_post_init__(self) -> None:
        """Refuse an unknown mode."""
        if self.mode and self.mode not in list(Mode):
            raise ValueError(f"mode must be one of {', '.join(Mode)}, not {self.mode!r}")

    @property
    def only_reads(self) -> bool:
        """Return True if its sub-agents get no tool that writes or executes."""
        return self.mode == Mode.PLAN

    def has(self, tool: "Tool[..., object]") -> bool:
        """Return True if its sub-agents have *tool*."""
        name = tool.name
        # Sub-agents start none themselves: there are two levels in all.
        if name in OUR_TOOLS or (self.only_reads and not (tool.is_read_only or tool.in_plan)):
            return False
        return (not self.tools or _fits(name, self.tools)) and not _fits(name, self.without)

    def first_message(self, prompt: str) -> str:
        """Return the first message of a sub-agent."""
        return "\n\n".join(filter(None, [INTRODUCTION, self.instructions, prompt]))


BUILT_IN: Mapping[str, Profile] = {
    "general": Profile(),
    "build": Profile(instructions="Make the change, run what checks it, and say what you changed."),
    "explore": Profile(
        mode="plan",
        instructions="Find what is asked for quickly. Read no more than you need.",
    ),
    "plan": Profile(
        mode="plan",
        instructions="Read what is needed and answer with a plan: files, steps, risks.",
    ),
    "review": Profile(
        mode="plan",
        instructions="Look for mistakes, the worst first. Give place, reason and remedy.",
    ),
    "security": Profile(
        mode="plan",
        instructions="Look for exploitable weaknesses. Give place, attack and remedy.",
    ),
}


def find_profile(name: str, own: Mapping[str, Profile]) -> Profile:
    """Return the profile called *name*; the configuration's override the built-in ones.

    Raises: ToolError (unknown_profile), with the existing names.
    """
    profile = own.get(name) or BUILT_IN.get(name)
    if profile is None:
        existing = ", ".join(sorted({*own, *BUILT_IN}))
        raise ToolError(
            f"there is no profile {name!r}; there are {existing}", error_class="unknown_profile"
        )
    return profile


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
