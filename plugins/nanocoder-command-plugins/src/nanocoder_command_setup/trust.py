"""Trust in a project: the changes by its file, and the user's consent."""

import os
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from nanocoder import Host, UsageError, project_file, read_project_bytes

from nanocoder_command_setup.settings import as_json
from nanocoder_command_setup.trusted_folders import trust as trust_folder
from nanocoder_command_setup.trusted_folders import untrust as untrust_folder

Review = tuple[list[str], Callable[[], None]]
"""The text that a user reads before a plugin may use a file, and the function that allows it."""
NEEDS_PERSON: Final = 3
"""The exit code without a terminal to ask on."""
NOT_CONFIRMED: Final = "Not trusted: no terminal to confirm on. Pass --yes to trust it anyway."


def trust(arguments: Namespace, host: Host) -> int:
    """Show the changes by the project's file, and trust it if the user agrees."""
    file = project_file(host.cwd)
    reviews = plugin_reviews(host)
    if not (os.path.lexists(file) or reviews or host.config.trusted):
        # Trust in a missing file would not cover the content of a later one.
        raise UsageError(f"nothing to trust: {file} does not exist")
    host.refuse_foreign_places()
    if host.config.trusted and not reviews:
        host.print_line(f"{host.cwd} is trusted already.")
        return 0
    content = read_project_bytes(host.cwd)
    for line in _review_lines(host, reviews):
        host.print_line(line)
    if not arguments.yes:
        if not host.is_interactive:
            host.say(NOT_CONFIRMED)
            return NEEDS_PERSON
        if not host.agrees("Trust these settings?"):
            host.print_line("Not trusted.")
            return 0
    trust_folder(host.cwd, reviewed=content)
    for _, accept in reviews:
        accept()
    host.print_line("Trusted. Its settings now apply; a change to the file revokes this.")
    return 0


def untrust(_: Namespace, host: Host) -> int:
    """Revoke the trust: the project's file can only tighten settings again."""
    untrust_folder(host.cwd)
    host.print_line(f"{host.cwd} is not trusted: its settings can only tighten.")
    return 0


def plugin_reviews(host: Host) -> list[Review]:
    """Return the reviews of plugins' files in the folder that the user has not accepted.

    A plugin provides one with a method `project_review` of its settings class.
    """
    reviews = [
        getattr(cls, "project_review", lambda _: None)(host.cwd)
        for _, cls in sorted(host.settings_classes().items())
    ]
    return [review for review in reviews if review is not None]


def _review_lines(host: Host, reviews: Sequence[Review]) -> Iterator[str]:
    """Yield the settings and files that take effect with the trust."""
    if os.path.lexists(project_file(host.cwd)) and not host.config.trusted:
        yield from _loosened(host)
    for lines, _ in reviews:
        yield from lines


def _loosened(host: Host) -> list[str]:
    """Return lines with the settings that the project's file changes once it is trusted."""
    classes = host.settings_classes()
    # A variable of this shell may hide a setting today; the file will be trusted tomorrow, too.
    lasting = {key: text for key, text in os.environ.items() if not key.startswith("NANOCODER_")}
    before = host.config.reread(trusted=False, environment=lasting)
    now = {key: value for key, value, _ in before.items(classes)}
    then = host.config.reread(trusted=True, environment=lasting)
    rows = [(key, value, now.get(key)) for key, value, _ in then.items(classes)]
    notices = [f"  ignored: {notice}" for notice in then.notices]
    lines = [
        f"  {key} = {as_json(value)}" + ("" if before is None else f"  (now {as_json(before)})")
        for key, value, before in rows
        if value != before
    ]
    file = project_file(host.cwd)
    if not lines:
        return [f"{file} sets nothing that needs trust.", *notices]
    return [f"Once it is trusted, {file} sets:", *lines, *notices]
