"""The tool skill: instructions for a kind of task, loaded by name when they are needed."""

from typing import Annotated, Any

from nanocoder import Effect, Resource, SessionInfo, Tool, ToolContext, ToolResult, hookimpl, tool

from nanocoder_tool_skill.folders import Settings, has_folders

SKILLS = "skills"
"""The resource that is true if there are folders of skills."""


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    needs=(SKILLS,),
    examples=[{}],
)
def skill(
    ctx: ToolContext,
    name: Annotated[str, "Empty lists all."] = "",
    file: Annotated[str, "One in its folder."] = "",
) -> ToolResult:
    """Load a skill: how to do one kind of task."""
    from nanocoder_tool_skill.loading import load  # the prompt needs the module of the tool alone

    return load(ctx, name, file)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer skill."""
    return [skill]


@hookimpl
def nanocoder_resources() -> list[Resource]:
    """Provide the skills, searched once in a session."""
    return [Resource(SKILLS, lambda session, own: has_folders(own or Settings(), session.cwd))]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-skill]`."""
    return Settings


@hookimpl
def nanocoder_prompt(session: SessionInfo, settings: Any) -> str | None:
    """Name the skills; descriptions from the project stay out of the system prompt."""
    settings = settings or Settings()
    if session.profile == "small" or not settings.in_prompt:
        return None
    if not has_folders(settings, session.cwd):
        return None
    from nanocoder_tool_skill.loading import prompt_of  # most sessions have no skill

    return prompt_of(session, settings)
