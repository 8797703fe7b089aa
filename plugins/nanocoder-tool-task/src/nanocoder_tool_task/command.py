"""`nanocoder agents`: the profiles of sub-agents, and the problems of their files."""

from argparse import Namespace
from typing import Any

from nanocoder import Host
from nanocoder_kit_files.table import print_table

from nanocoder_tool_task.profile_files import PROJECT_FOLDER, profile_files, unknown_tools
from nanocoder_tool_task.profiles import BUILT_IN, Profile

HEAD = ("agent", "mode", "tools", "from", "description")
NOT_COUNTED = (
    f"the files in {PROJECT_FOLDER} are not used: set project_profiles = true below"
    " [plugins.tool-task] in your own configuration, or in that of a project that you trust"
)


def run(arguments: Namespace, host: Host, settings: Any) -> int:
    """Print every profile; return 1 if the file of one cannot be used."""
    with host.session(persist=False) as session:
        info = session.info
    files = profile_files(info, with_project=settings.project_profiles)
    problems = [file.problem for file in files if file.problem]
    tools = host.plugins.tools()
    rows = [_row(name, profile, "configuration") for name, profile in settings.profiles.items()]
    for file in files:
        if file.profile is None or file.name in settings.profiles:
            continue
        rows.append(_row(file.name, file.profile, str(file.path), file.description))
        if problem := unknown_tools(file.profile, tools):
            problems.append(f"{file.path}: {problem}")
    rows += [
        _row(name, profile, "built in", profile.instructions)
        for name, profile in BUILT_IN.items()
        if name not in settings.profiles
    ]
    if arguments.output == "json":
        host.print_json(
            {"agents": [dict(zip(HEAD, row, strict=True)) for row in rows], "problems": problems}
        )
    else:
        print_table(HEAD, rows)
    for problem in problems:
        host.say(problem)
    if not settings.project_profiles and (info.cwd / PROJECT_FOLDER).is_dir():
        host.say(NOT_COUNTED)
    return 1 if problems else 0


def _row(name: str, profile: Profile, origin: str, description: str = "") -> tuple[str, ...]:
    return (name, profile.mode or "-", ", ".join(profile.tools) or "all", origin, description)
