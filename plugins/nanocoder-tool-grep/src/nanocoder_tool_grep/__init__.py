"""The tool grep: lines that match a pattern, by ripgrep."""

from typing import Annotated, Any

from attrs import frozen
from nanocoder import (
    Effect,
    Param,
    Tool,
    ToolContext,
    ToolResult,
    WorkspaceError,
    hookimpl,
    tool,
)
from nanocoder_kit_files.glob import SKIPPED

from nanocoder_tool_grep.answer import answer
from nanocoder_tool_grep.finding import Page, find
from nanocoder_tool_grep.query import COUNTED, MAX_CONTEXT, Output, Query, check
from nanocoder_tool_grep.spellings import breaks_lines

TYPE = r"^[A-Za-z0-9.+#_-]{0,30}$"


@frozen
class Settings:
    """The settings of `[plugins.tool-grep]`.

    A search that takes longer than *time_limit_s* seconds is stopped, and its results so far are
    the answer. Directories with a name in *skip* are not searched.
    """

    time_limit_s: float = 30.0
    skip: tuple[str, ...] = tuple(sorted(SKIPPED))


@tool(
    risk="safe",
    effects={Effect.READ, Effect.IDEMPOTENT},
    examples=[{"pattern": "def main"}, {"pattern": "TODO", "glob": "*.py", "output": "files"}],
    always_listed=True,
    short="Find the lines that match a pattern.",
)
def grep(  # noqa: PLR0913 - one argument for each thing that can be asked
    ctx: ToolContext,
    pattern: Annotated[str, "Regex; of ripgrep, e.g. def \\w+_test."],
    path: Annotated[str, "Where; a file or directory."] = ".",
    glob: Annotated[str, "Like *.py; or src/**/*.ts, or !*.md."] = "",
    type: Annotated[str, Param("Like py; a language.", pattern=TYPE)] = "",  # noqa: A002 - the models' name
    output: Annotated[Output, "Form; lines, names of files, or matches per file."] = "content",
    context: Annotated[int, Param("Around; lines before and after.", ge=0, le=MAX_CONTEXT)] = 0,
    *,
    ignore_case: Annotated[bool, "Any case."] = False,
    fixed_string: Annotated[bool, "No regex; the text as it is."] = False,
    multiline: Annotated[bool, "Across lines; a match may hold line breaks."] = False,
    limit: Annotated[int, Param("Results; at most.", ge=1)] = 100,
    offset: Annotated[int, Param("Skip; results, to continue.", ge=0, le=COUNTED)] = 0,
) -> ToolResult:
    """Search the contents of files for a regular expression.

    Returns path:line: text of each match, 500 characters of a long line, sorted by path. Left out
    are files that git ignores, directories like node_modules and binary files. For names of files
    use glob.
    """
    check(pattern, glob, type)
    settings: Settings = ctx.settings or Settings()
    where = ctx.workspace.resolve(path)
    query = Query(
        pattern=pattern,
        path=where,
        is_file=_is_file(ctx, where),
        glob=glob,
        type=type,
        output=output,
        context=context if output == "content" else 0,
        ignore_case=ignore_case,
        fixed=fixed_string,
        multiline=multiline or breaks_lines(pattern, fixed=fixed_string),
    )
    page = Page(offset, limit)
    skip = frozenset(settings.skip)
    results = find(ctx, query, page, skip=skip, limit_s=settings.time_limit_s)
    can_go_on = results.has_more and ctx.offers("grep", "offset")
    return answer(query, results, can_go_on=can_go_on)


@hookimpl
def nanocoder_tools() -> list[Tool[..., Any]]:
    """Offer grep."""
    return [grep]


@hookimpl
def nanocoder_settings() -> type:
    """Return the class of `[plugins.tool-grep]`."""
    return Settings


def _is_file(ctx: ToolContext, path: str) -> bool:
    """Return True for a file, False for a directory; raises WorkspaceError for other paths."""
    try:
        ctx.workspace.open(path).close()
    except WorkspaceError as error:
        if error.error_class != "is_a_directory":
            raise
        return False
    return True
