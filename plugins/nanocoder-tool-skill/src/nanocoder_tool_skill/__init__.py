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

from nanocoder_tool_skill.catalog import Settings, Skill, found

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
    skills = found(ctx.settings or Settings(), ctx.workspace)
    if not name:
        return _listing(skills, ctx.workspace)
    one = skills.get(name)
    if one is None:
        raise ToolError(
            f"there is no skill {name!r}\n{_listing(skills, ctx.workspace).output}",
            error_class="unknown_skill",
            data={"skills": list(skills)},
        )
    if file:
        return ToolResult(one.text(ctx.workspace, file), title=f"{name}/{file}", data=_data(one))
    return _loaded(one, ctx.workspace)


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
    """Name the skills; what the project says of its own stays out of the system prompt."""
    settings = settings or Settings()
    if session.profile == "small" or not settings.in_prompt:
        return None
    with Workspace(session.cwd, readable=session.readable) as workspace:
        skills = list(found(settings, workspace).values())[:PROMPT_SKILLS]
        lines = [_prompt_line(one, workspace) for one in skills]
    return "\n".join(["Skills, loaded with the tool `skill`:", *lines]) if lines else None


def _prompt_line(one: Skill, workspace: Workspace) -> str:
    if not one.is_own:
        return f"- {one.name} (of this project)"
    return f"- {one.name}: {_described(one, workspace)[:PROMPT_DESCRIPTION_CHARS]}"


def _listing(skills: Mapping[str, Skill], workspace: Workspace) -> ToolResult:
    described = {name: _described(one, workspace) for name, one in skills.items()}
    lines = [f"- {name}: {text}" for name, text in described.items()]
    return ToolResult(
        "\n".join(["Skills:", *lines]) if lines else "There are no skills.",
        title="Skills",
        data={
            "skills": [{**_data(skills[name]), "description": described[name]} for name in skills]
        },
    )


def _described(one: Skill, workspace: Workspace) -> str:
    try:
        return one.document(workspace).description or "(no description)"
    except ToolError as error:
        return f"(cannot be loaded: {error})"


def _loaded(one: Skill, workspace: Workspace) -> ToolResult:
    try:
        document = one.document(workspace)
    except ToolError as error:
        raise ToolError(
            f"the skill {one.name!r} in {one.where} cannot be loaded: {error}",
            error_class=error.error_class,
        ) from None
    files = one.files(workspace)
    notes = []
    if not one.is_own:
        notes.append("[a skill of this project, which its authors wrote, not the user]")
    if files:
        notes.append(f"[other files, to be read with `file`: {', '.join(files)}]")
    return ToolResult(
        "\n\n".join([*notes, document.body]).strip() or "(the skill is empty)",
        title=one.name,
        data={**_data(one), "description": document.description, "files": files},
        metadata={"path": one.where},
    )


def _data(one: Skill) -> dict[str, Any]:
    return {"name": one.name, "path": one.where, "origin": "user" if one.is_own else "project"}
