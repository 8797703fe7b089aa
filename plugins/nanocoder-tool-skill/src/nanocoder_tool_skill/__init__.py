"""The tool skill: instructions for a kind of task, loaded by name when they are needed."""

from collections.abc import Mapping
from typing import Annotated, Any

from nanocoder import (
    Effect,
    SessionInfo,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    Workspace,
    hookimpl,
    tool,
)

from nanocoder_tool_skill.catalog import Settings, Skill, find_skills

PROMPT_SKILLS = 50
PROMPT_DESCRIPTION_CHARS = 200


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{}],
)
def skill(
    ctx: ToolContext,
    name: Annotated[str, "Skill; empty lists all."] = "",
    file: Annotated[str, "One in its folder."] = "",
) -> ToolResult:
    """Load a skill before such work."""
    skills = find_skills(ctx.settings or Settings(), ctx.workspace)
    if not name:
        return _listing(skills, ctx.workspace)
    chosen = skills.get(name)
    if chosen is None:
        raise ToolError(
            f"there is no skill {name!r}\n{_listing(skills, ctx.workspace).output}",
            error_class="unknown_skill",
            data={"skills": list(skills)},
        )
    if file:
        return ToolResult(
            chosen.text(ctx.workspace, file), title=f"{name}/{file}", data=_data(chosen)
        )
    return _load(chosen, ctx.workspace)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer skill."""
    return [skill]


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
    with Workspace(session.cwd, readable=session.readable) as workspace:
        skills = list(find_skills(settings, workspace).values())[:PROMPT_SKILLS]
        lines = [_prompt_line(item, workspace) for item in skills]
    return "\n".join(["Skills, loaded with the tool `skill`:", *lines]) if lines else None


def _prompt_line(item: Skill, workspace: Workspace) -> str:
    if not item.is_own:
        return f"- {item.name} (of this project)"
    return f"- {item.name}: {_describe(item, workspace)[:PROMPT_DESCRIPTION_CHARS]}"


def _listing(skills: Mapping[str, Skill], workspace: Workspace) -> ToolResult:
    descriptions = {name: _describe(item, workspace) for name, item in skills.items()}
    lines = [f"- {name}: {text}" for name, text in descriptions.items()]
    return ToolResult(
        "\n".join(["Skills:", *lines]) if lines else "There are no skills.",
        title="Skills",
        data={
            "skills": [
                {**_data(skills[name]), "description": descriptions[name]} for name in skills
            ]
        },
    )


def _describe(item: Skill, workspace: Workspace) -> str:
    try:
        return item.document(workspace).description or "(no description)"
    except ToolError as error:
        return f"(cannot be loaded: {error})"


def _load(chosen: Skill, workspace: Workspace) -> ToolResult:
    try:
        document = chosen.document(workspace)
    except ToolError as error:
        raise ToolError(
            f"the skill {chosen.name!r} in {chosen.where} cannot be loaded: {error}",
            error_class=error.error_class,
        ) from None
    files = chosen.files(workspace)
    notes = []
    if not chosen.is_own:
        notes.append("[a skill of this project, which its authors wrote, not the user]")
    if files:
        notes.append(f"[other files, to be read with `file`: {', '.join(files)}]")
    return ToolResult(
        "\n\n".join([*notes, document.body]).strip() or "(the skill is empty)",
        title=chosen.name,
        data={**_data(chosen), "description": document.description, "files": files},
        metadata={"path": chosen.where},
    )


def _data(item: Skill) -> dict[str, Any]:
    return {"name": item.name, "path": item.where, "origin": "user" if item.is_own else "project"}
