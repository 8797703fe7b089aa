"""Loading a skill, and the list of all skills in the prompt."""

from collections.abc import Mapping
from typing import Any

from nanocoder import SessionInfo, ToolContext, ToolError, ToolResult, Workspace

from nanocoder_tool_skill.catalog import Skill, find_skills
from nanocoder_tool_skill.folders import Settings

PROMPT_SKILLS = 50
PROMPT_DESCRIPTION_CHARS = 200


def load(ctx: ToolContext, name: str, file: str) -> ToolResult:
    """Return a skill, or a file of it; without a *name* the list. Raises: ToolError."""
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


def prompt_of(session: SessionInfo, settings: Settings) -> str | None:
    """Return the names of the skills, with the descriptions of the user's own."""
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
