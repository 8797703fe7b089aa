"""`nanocoder sessions search` and `tag`: find sessions by their texts, and by tags."""

import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from attrs import asdict
from nanocoder import Host, UsageError, one_line
from nanocoder_kit_sessions import session_store
from nanocoder_kit_sessions.journal_text import tags_of
from nanocoder_kit_sessions.search_index import IndexedSession, Match, open_index

from nanocoder_command_sessions.listing import directory_of, local_time, tag_text

TAG: Final = re.compile(r"[\w][\w.-]{0,39}")
MAX_TAGS: Final = 20
MAX_MATCHES: Final = 20
TITLE_COLUMNS: Final = 60
PASSAGE_COLUMNS: Final = 160
MIN_COLUMNS: Final = 20
NO_MATCH: Final = "No session{} has {!r} in a prompt, an answer, a call or a result."
MORE: Final = "Only the newest {} are shown (--limit N shows more)."


def search(arguments: Namespace, host: Host) -> int:
    """Print the sessions with the searched words, each with its best passage."""
    words = [word for word in arguments.text if word.strip()]
    if not words:
        raise UsageError("name what to search for: nanocoder sessions search TEXT")
    limit = MAX_MATCHES if arguments.limit is None else arguments.limit
    if limit < 1:
        raise UsageError(f"--limit {limit}: show at least 1 session")

    def fits(session: IndexedSession) -> bool:
        is_here = not arguments.here or session.cwd == str(host.cwd)
        return is_here and (not arguments.tag or tag_of(arguments.tag) in session.tags)

    with open_index(session_store(host), host.say) as index:
        matches = index.search(words, fits, limit + 1)
    if arguments.output == "json":
        host.print_json([_data(match) for match in matches[:limit]])
        return 0
    for match in matches[:limit]:
        _print_match(host, match)
    if not matches:
        tagged = f" tagged {tag_of(arguments.tag)}" if arguments.tag else ""
        scope = f" of {host.cwd}" if arguments.here else ""
        host.print_line(NO_MATCH.format(tagged + scope, " ".join(words)))
    if len(matches) > limit:
        host.say(MORE.format(limit))
    return 0


def tag(arguments: Namespace, host: Host) -> int:
    """Add tags to a session and remove others; without tags, print those that it has."""
    store = session_store(host)
    words, cwd = _without_directory(arguments.tags, host.cwd)
    session_id = store.find(arguments.id, cwd=cwd)
    added = {tag_of(word.removeprefix("+")) for word in words if word[:1] != "-"}
    removed = {tag_of(word.removeprefix("-")) for word in words if word[:1] == "-"}
    before = set(tags_of(store.records(session_id)))
    after = sorted((before | added) - removed)
    if len(after) > MAX_TAGS:
        raise UsageError(f"a session has at most {MAX_TAGS} tags")
    if words and set(after) != before:
        _, journal = store.take(session_id)
        try:
            journal.append("session.changed", {"tags": after}, is_use=False)
        finally:
            journal.close()
        if journal.problem:
            raise UsageError(journal.problem, error_class="session_unreadable")
        with open_index(store, host.say):
            pass  # the list reads tags from the index, so the first tag makes it
    host.print_line(f"{session_id}: {tag_text(after) or 'no tags'}")
    return 0


def _without_directory(words: Sequence[str], cwd: Path) -> tuple[list[str], Path]:
    """Return *words* without the option `--cwd`, and its value or else *cwd*.

    After the ID, a word that begins with a dash is a tag to remove, and no option.
    """
    words = list(words)
    for word in [word for word in words if word.startswith("--")]:
        name, equals, value = word.partition("=")
        index = words.index(word)
        value = value if equals else next(iter(words[index + 1 :]), "")
        if name != "--cwd" or not value:
            raise UsageError(f"`nanocoder sessions tag`: {word} is no option with a value")
        cwd = Path(value).resolve()
        del words[index : index + (1 if equals else 2)]
    return words, cwd


def tag_of(word: str) -> str:
    """Return *word* as a tag; raises UsageError for an invalid one."""
    name = word.removeprefix("#").casefold()
    if not TAG.fullmatch(name):
        raise UsageError(
            f"{word!r} is no tag: a tag has up to 40 letters, digits, dots, dashes or underscores;"
            " +NAME adds it, -NAME removes it"
        )
    return name


def _print_match(host: Host, match: Match) -> None:
    session, width = match.session, host.columns
    tags = f"  {tag_text(session.tags)}" if session.tags else ""
    directory = directory_of(session.cwd, width)
    title = one_line(session.title, TITLE_COLUMNS)
    line = f"{session.id}  {local_time(session.updated)}  {directory}"
    # A narrow terminal would break the title anywhere.
    is_narrow = 0 < width < len(line) + len(title) + len(tags) + 2
    host.print_line(line if is_narrow else f"{line}  {title}{tags}")
    if is_narrow:
        host.print_line(f"  {one_line(title, max(MIN_COLUMNS, width - len(tags) - 2))}{tags}")
    label = (
        f"{match.role} {match.prompt}" if match.role == "prompt" and match.prompt else match.role
    )
    columns = max(MIN_COLUMNS, min(PASSAGE_COLUMNS, width or PASSAGE_COLUMNS) - len(label) - 4)
    host.print_line(f"  {label}: {one_line(match.passage, columns)}")


def _data(match: Match) -> dict[str, Any]:
    session = {**asdict(match.session), "tags": list(match.session.tags)}
    location = {"role": match.role, "prompt": match.prompt or None, "at": match.at}
    return {**session, **location, "passage": match.passage}
