"""The commands of `nanocoder mcp`: servers are added, listed, reviewed, tested and removed."""

import threading
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from attrs import evolve
from nanocoder import Host, ToolError, UsageError, counted, did_you_mean
from nanocoder_kit_files.table import print_table

from nanocoder_mcp import credentials, records
from nanocoder_mcp.accepting import accept, ask_server
from nanocoder_mcp.config_file import added, removed, save
from nanocoder_mcp.configured import Configured, configured
from nanocoder_mcp.definitions import Listing
from nanocoder_mcp.records import Record
from nanocoder_mcp.review import shown_changes, shown_launch, shown_tools, with_token
from nanocoder_mcp.server import Server, as_name, server_of
from nanocoder_mcp.settings import Settings
from nanocoder_mcp.states import HEAD, left_out_lines, state_of

PLUGIN: Final = "mcp"
LOGIN_NEEDED: Final = "login_needed"
REFUSED: Final = 1
NEEDS_PERSON: Final = 3
SLOW_S: Final = 3.0
SWITCHES: Final = ("--yes", "--sampling")
OPTIONS: Final = ("--env", "--header")
OWN_OPTIONS: Final = frozenset({*SWITCHES, *OPTIONS})
ADDRESSES: Final = ("http://", "https://")
SCRIPTS: Final = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh")


def add(arguments: Namespace, host: Host) -> int:
    """Start a server, show its tools, and add it once the user agrees."""
    name, table = arguments.name, _table_of(arguments, host.cwd)
    if name in _settings(host).servers:
        raise UsageError(f"there is a server {name!r} already; nanocoder mcp remove {name}")
    server = _checked(name, table)
    equal = {as_name(each): each for each in _settings(host).servers}
    if like := equal.get(as_name(name)):
        problem = f"its tools would be called like those of {like!r}; choose another name"
        raise UsageError(f"{name!r}: {problem}")
    try:
        listing, info = _ask(host, server)
    except ToolError as error:
        if error.error_class != LOGIN_NEEDED:
            raise
        return _added_without_login(host, name, table)
    for line in shown_tools(listing):
        host.print_line(line)
    if code := _refusal(arguments, host, f"Add {name}: {server.starts_with}?"):
        return code
    save(host, lambda: added(host, name, table))
    accept(server, listing, info)
    host.print_line(f"{name} is added {_offer_clause(listing)}.")
    return 0


def _offer_clause(listing: Listing) -> str:
    """Return a clause on the tools of a new server and when it starts."""
    if listing.tools:
        count = counted(len(listing.tools), "tool")
        return f"with {count}; it starts at the first call of one of them"
    if listing.prompts or listing.resources:
        return "without tools; it starts when you use a prompt or a resource of it"
    return "but offers nothing that can be used"


def _added_without_login(host: Host, name: str, table: Mapping[str, Any]) -> int:
    """Add a server that lists nothing before a login; none of its tools is accepted yet."""
    save(host, lambda: added(host, name, table))
    host.print_line(f"{name} is added and asks for a login: nanocoder mcp login {name}")
    server = _checked(name, table)
    challenge = credentials.read(server).challenge
    if challenge is not None and "resource_metadata" not in challenge[1]:
        host.print_line(f"If it accepts a token instead of a login: {with_token(server)}")
    return 0


def list(arguments: Namespace, host: Host) -> int:  # noqa: A001 - named as the person types it
    """List the servers with their state, without starting any."""
    all_servers = _configured(host)
    rows = [state_of(server) for server in all_servers.servers.values()]
    if arguments.output == "json":
        host.print_json({"servers": rows, "problems": all_servers.remarks})
        return 0
    cells = [tuple(str(row[key]) for key in HEAD) for row in rows]
    if cells:
        print_table(HEAD, cells)
    else:
        host.print_line("No server is configured; nanocoder mcp add NAME -- COMMAND adds one.")
    for row in rows:
        if row["problem"]:
            host.say(f"{row['server']}: {row['problem']}")
        for line in left_out_lines(row):
            host.say(line)
    for remark in all_servers.remarks:
        host.say(remark)
    return 0


def review(arguments: Namespace, host: Host) -> int:
    """Show the changes of a server since its review, and accept them."""
    server = _named(host, arguments.name)
    record = records.read(server)
    for line in shown_launch(server):
        host.print_line(line)
    if not record.agrees_to(server):
        question = "Start it to see its tools?"
        if server.folder is not None and (code := _refusal(arguments, host, question)):
            return code
        record = Record()
    listing, info = _ask(host, server)
    lines = [*shown_changes(record, listing)]
    if not lines and record.launch:
        record = evolve(record, prompts=listing.prompts, resources=listing.resources)
        records.write(server, evolve(record, pending=None, problem=""))
        host.print_line(f"{server.name} offers exactly what was accepted.")
        return 0
    return _accepted(arguments, host, server, listing, info)


def _accepted(
    arguments: Namespace, host: Host, server: Server, listing: Listing, info: Mapping[str, Any]
) -> int:
    """Show the changes since the last review, and accept them if the user agrees."""
    record = records.read(server)
    for line in shown_changes(record if record.agrees_to(server) else Record(), listing):
        host.print_line(line)
    if code := _refusal(arguments, host, f"Accept this of {server.name}?"):
        return code
    accept(server, listing, info)
    _remember_table(host)
    host.print_line(f"{counted(len(listing.tools), 'tool')} of {server.name} can be called now.")
    return 0


def test(arguments: Namespace, host: Host) -> int:
    """Start a server and print its answer; return 1 if it does not work."""
    server = _named(host, arguments.name)
    record = records.read(server)
    if server.folder is not None and not record.agrees_to(server):
        raise UsageError(
            f"its start is not approved yet; approve it: nanocoder mcp review {server.name}"
        )
    began = time.monotonic()
    try:
        listing, info = _ask(host, server)
    except ToolError as error:
        records.note(server, str(error))
        raise
    records.note(server, "")
    took = round(time.monotonic() - began, 2)
    changes = dict(records.changes(record, tuple(listing.tools)))
    report = {"server": server.name, **info, "seconds": took, "tools": len(listing.tools)}
    report |= {"held_back": changes, "left_out": listing.left_out}
    if arguments.output == "json":
        host.print_json(report)
        return 0
    tools = counted(len(listing.tools), "tool")
    revision = f"protocol {info['protocol']}"
    host.print_line(
        f"{server.name}: {info['name']} {info['version']}, {revision}, {tools}, {took} s"
    )
    for name, why in changes.items():
        host.print_line(f"held back: {name} {why}; nanocoder mcp review {server.name}")
    for name, why in listing.left_out.items():
        host.print_line(f"left out: {name}: {why}")
    return 0


def login(arguments: Namespace, host: Host) -> int:
    """Log in at a server in a browser, and review its tools if they are not accepted yet."""
    server = _named(host, arguments.name)
    credentials.refuse_open_address(server)
    record = records.read(server)
    if server.folder is not None and not record.agrees_to(server):
        for line in shown_launch(server):
            host.print_line(line)
        if code := _refusal(arguments, host, "Log in there?"):
            return code

    from nanocoder_mcp.login import log_in, show_address  # it loads the SDK

    show = partial(show_address, server, host)
    listing, info, is_new = log_in(server, host.cwd, show, host)
    host.print_line(f"{server.name}: {'logged in' if is_new else 'no login was needed'}.")
    if record.agrees_to(server):
        records.note(server, "")
        return 0
    return _accepted(arguments, host, server, listing, info)


def logout(arguments: Namespace, host: Host) -> int:
    """Delete the stored login at a server."""
    server = _named(host, arguments.name)
    if credentials.forget(server):
        host.print_line(f"{server.name}: the login is forgotten here.")
    else:
        host.print_line(f"{server.name}: you are not logged in.")
    return 0


def remove(arguments: Namespace, host: Host) -> int:
    """Remove a server from the user's configuration, with its records."""
    server = _named(host, arguments.name)
    records.forget(server)
    credentials.forget(server)
    if server.folder is not None:
        path = server.folder / ".mcp.json"
        host.print_line(f"The review of {server.name} is deleted; {path} still names it.")
        return 0
    save(host, lambda: removed(host, server.name))
    host.print_line(f"{server.name} is removed.")
    return 0


def _ask(host: Host, server: Server) -> tuple[Listing, dict[str, Any]]:
    """Start *server* and return its listing and info; explain a long wait to the user."""
    settings = _settings(host)
    text = f"waiting for {server.name}, which has {settings.start_timeout_s:g} s to start"
    notice = threading.Timer(SLOW_S, host.say, [text])
    if host.is_interactive:
        notice.start()
    try:
        return ask_server(host.cwd, settings, server)
    finally:
        notice.cancel()


def _table_of(arguments: Namespace, cwd: Path) -> dict[str, Any]:
    """Return the table of the server that the words describe; raises UsageError.

    A server with an argument that the person wrote as a path in *cwd* starts there in all sessions.
    """
    words = _options_taken(arguments)
    if not words:
        raise UsageError("name what to start, after --, or an address")
    sampling = {"sampling": True} if arguments.sampling else {}
    if words[0].startswith(ADDRESSES):
        headers = dict(_pair(text, ":") for text in filter(None, [arguments.header]))
        return {"url": words[0], **({"headers": headers} if headers else {}), **sampling}
    env = dict(_pair(text, "=") for text in (arguments.env or "").split())
    where = {"cwd": str(cwd)} if any(_is_path_here(word, cwd) for word in words) else {}
    return {"command": words, **where, **({"env": env} if env else {}), **sampling}


def _is_path_here(word: str, cwd: Path) -> bool:
    """Return True if *word* is surely meant as a path: `./server`, or the script `tools/server.py`.

    A repository may have a file or a folder by the name of any package that npx or uvx runs.
    """
    is_script = word[:1] not in "/@" and word.endswith(SCRIPTS) and (cwd / word).is_file()
    return word.startswith(("./", "../")) or is_script


def _options_taken(arguments: Namespace) -> Sequence[str]:
    """Return the words that start the server; options between it and the name are taken out."""
    words = [*arguments.launch]
    while words and words[0] != "--":
        if words[0] in SWITCHES:
            setattr(arguments, words.pop(0).removeprefix("--"), True)
        elif words[0] in OPTIONS and len(words) > 1:
            setattr(arguments, words[0].removeprefix("--"), words[1])
            del words[:2]
        elif words[0].startswith("-"):
            raise UsageError(f"unknown option {words[0]}; a command follows after --")
        elif words[0].startswith(ADDRESSES):
            words.append(words.pop(0))
            if len(words) == 1:
                return words
        else:
            _refuse_options(words)
            return words
    return words[1:]


def _refuse_options(words: Sequence[str]) -> None:
    """Raise UsageError for an option behind a command: without -- it may be of either."""
    if behind := next((word for word in words if word in OWN_OPTIONS), ""):
        start = "nanocoder mcp add NAME [OPTIONS] -- COMMAND"
        raise UsageError(f"{behind} stands behind the command; say whose it is: {start}")


def _pair(text: str, sign: str) -> tuple[str, str]:
    name, separator, value = text.partition(sign)
    if not (name.strip() and separator):
        raise UsageError(f"expected NAME{sign}VALUE, got {text!r:.60}")
    return name.strip(), value.strip()


def _checked(name: str, table: Mapping[str, Any], folder: Path | None = None) -> Server:
    try:
        return server_of(name, dict(table), folder)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _settings(host: Host) -> Settings:
    settings: Settings = host.plugins.settings(PLUGIN)
    return settings


def _configured(host: Host) -> Configured:
    return configured(_settings(host), host.config.trusted_folder, host.cwd)


def _named(host: Host, name: str) -> Server:
    """Return the server called *name*; raises UsageError."""
    all_servers = _configured(host)
    if name not in all_servers.servers:
        if name in all_servers.waiting:
            raise UsageError(all_servers.why)
        otherwise = (
            "; nanocoder mcp list names them" if all_servers.servers else "; none is configured"
        )
        hint = did_you_mean(name, all_servers.servers, otherwise)
        raise UsageError(f"there is no server {name!r}{hint}")
    return all_servers.servers[name]


def _remember_table(host: Host) -> None:
    """Add the plugin's table if it is missing: without it no session asks for its tools."""
    if PLUGIN not in host.config.plugins_with_settings:
        save(host, lambda: added(host, "", {}))
        host.print_line(f"{host.config_path} has the table [plugins.mcp] now.")


def _refusal(arguments: Namespace, host: Host, question: str) -> int:
    """Return 0 if the user agrees, else the exit code: 3 without a terminal to ask on."""
    if arguments.yes:
        return 0
    if not host.is_interactive:
        host.say("no terminal to accept it on; read it, and run this again with --yes")
        return NEEDS_PERSON
    if host.agrees(question):
        return 0
    host.say("nothing was changed")
    return REFUSED
