"""What a sub-agent is good for, and whether it may change anything."""

import enum
from collections.abc import Mapping

INTRODUCTION = (
    "You are a sub-agent. Another agent gave you the task below and reads your last message only:"
    " answer with the result itself, with paths and line numbers where they help."
)


class Profile(enum.StrEnum):
    """The profiles of sub-agents."""

    BUILD = "build"
    PLAN = "plan"
    GENERAL = "general"
    EXPLORE = "explore"
    SECURITY = "security"
    REVIEW = "review"

    @property
    def only_reads(self) -> bool:
        """Tell whether its sub-agents get no tool that writes or executes."""
        return self not in {Profile.BUILD, Profile.GENERAL}


INSTRUCTIONS: Mapping[Profile, str] = {
    Profile.BUILD: "Make the change, run what checks it, and say what you changed.",
    Profile.PLAN: "Read what is needed and answer with a plan: files, steps, risks.",
    Profile.GENERAL: "",
    Profile.EXPLORE: "Find what is asked for quickly. Read no more than you need.",
    Profile.SECURITY: "Look for weaknesses that somebody could use. Give place, way and remedy.",
    Profile.REVIEW: "Look for mistakes, the worst first. Give place, reason and remedy.",
}


def instructed(profile: Profile, prompt: str) -> str:
    """Return the first message of a sub-agent."""
    return "\n\n".join(filter(None, [INTRODUCTION, INSTRUCTIONS[profile], prompt]))
