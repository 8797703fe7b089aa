"""The code blocks of the documentation, read and run.

All blocks of a page run in order in one folder with an empty home and a two-line `hello.py`. The
language says how:

* python    runs as a program
* console   each `$ command` runs in bash and must end well (`; echo $?` shows a failure that is
            meant); a line `> …` goes on a command; what stands beneath must be printed, and `...`
            there is anything. `pip install nanocoder-…` and `nanocoder plugins install …` are not
            run: the names must be ours.
* toml, json, jsonl, bash   must parse
* text, markdown, diff      are not code

A comment before a block changes that: `<!-- file: PATH -->` writes it into the folder,
`<!-- from: PATH -->` compares it with that file of the repository, which has tests of its own,
`<!-- not run: REASON -->` leaves it out. A page with a line `<!-- needs: PROGRAM -->` is run where
that program is.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import repository
from attrs import frozen
from command_line import forked

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL
)
COMMENT = re.compile(
    r"<!-- (?P<what>file|from|not run): (?P<value>(?:(?!-->).)*) -->\s*\Z", re.DOTALL
)
PROSE = ("text", "markdown", "diff")
INSTALL = re.compile(
    r"(?:pip install(?= '?nanocoder-)|nanocoder plugins install)"
    r"((?: '?[a-z][\w-]*(?:\[\w+\])?'?)+)"
)
COMMAND_TIMEOUT_S = 120
MARK = "=== end of command:"
REPLY = {"turns": [{"text": "Hello from the script."}] * 20}


class BlockError(AssertionError):
    """A block does not do what the page says; the message says where."""


@frozen
class Block:
    """One fenced block; *what* and *value* come from the comment before it."""

    page: Path
    line: int
    language: str
    text: str
    what: str = ""
    value: str = ""

    @property
    def where(self) -> str:
        """The place as messages and editors write it."""
        return f"{repository.shown(self.page)}:{self.line}"

    def fail(self, problem: str) -> NoReturn:
        """Say what is wrong, and where."""
        raise BlockError(f"{self.where}: {problem}")


def pages() -> list[Path]:
    """Return every page that is documentation of ours."""
    found = (path for path in repository.tracked() if path.suffix == ".md")
    return [path for path in found if "template" not in path.parts and path.name != "CHANGELOG.md"]


def new_folder(parent: Path) -> Path:
    """Return the folder in which the blocks of a page run."""
    folder = parent / "work"
    folder.mkdir()
    (folder / "hello.py").write_text('print("hello")\nprint("world")\n', encoding="utf-8")
    return folder


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        comment = COMMENT.search(text, 0, fence.start())
        indent = fence["indent"]
        lines = [line.removeprefix(indent) for line in fence["text"].splitlines()]
        yield Block(
            page=page,
            line=text.count("\n", 0, fence.start()) + 1,
            language=fence["language"],
            text="\n".join(lines) + "\n",
            what=comment["what"] if comment else "",
            value=comment["value"] if comment else "",
        )


def run(block: Block, folder: Path) -> None:
    """Run one block in *folder*, or raise BlockError."""
    if block.what == "not run":
        return
    if block.what == "from":
        _compare_with_file(block)
        return
    if block.what == "file":
        path = folder / block.value
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    if block.language not in PROSE:
        runner = RUNNERS.get(block.language)
        if runner is None:
            block.fail(f"no check for the language {block.language!r} is known")
        runner(block, folder)


def environment(folder: Path) -> dict[str, str]:
    """Return a reader's environment: an empty home and a scripted model."""
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    reply = home / "reply.json"
    reply.write_text(json.dumps(REPLY), encoding="utf-8")
    ours = ("NANOCODER_", "XDG_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "OLLAMA_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = os.pathsep.join(map(str, (_programs(folder), Path(sys.executable).parent, kept["PATH"])))
    model = f"scripted/{reply}"
    return kept | {"HOME": str(home), "PATH": path, "NANOCODER_MODEL": model, "NO_COLOR": "1"}


def _programs(folder: Path) -> Path:
    """Return a folder whose `nanocoder` is a fork of a process that has imported it."""
    programs = folder.parent / "programs"
    programs.mkdir(exist_ok=True)
    command = programs / "nanocoder"
    command.write_text(f'#!/bin/sh\nexec {forked()} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return programs


def _run_python(block: Block, folder: Path) -> None:
    if block.what == "file":
        compile(block.text, block.where, "exec")
        return
    _finish(block, [sys.executable, "-c", block.text], folder)


def _run_console(block: Block, folder: Path) -> None:
    commands = list(_commands(block.text))
    if not commands:
        block.fail("a console block shows `$ command` lines")
    for command, _ in commands:
        _check_install(block, command)
    runs = (":" if INSTALL.fullmatch(command) else command for command, _ in commands)
    end = f"{{ status=$?; echo '{MARK}' $status; echo '{MARK}' $status >&2; }}"
    script = "\n".join(f"{command}\n{end}" for command in runs)
    streams = (_pieces(text) for text in _finish(block, ["bash", "-c", script], folder))
    for (command, expected), out, noted in zip(commands, *streams, strict=False):
        _check_command(block, command, expected, (out, noted))


def _check_command(
    block: Block, command: str, expected: str, printed: tuple[tuple[str, str], tuple[str, str]]
) -> None:
    """Judge a command by its status and by what it printed, on both streams or on one of them."""
    (out, status), (noted, _) = printed
    if status != "0":
        block.fail(f"`{command}` ended with {status}:\n{out}{noted}")
    shown = (out, noted, f"{out}{noted}")
    if expected and not any(_matches(expected, text) for text in shown):
        block.fail(f"`{command}` printed\n{out}{noted}\ninstead of\n{expected}")


def _pieces(text: str) -> list[tuple[str, str]]:
    """Cut a stream into what each command printed and the status that it ended with."""
    return re.findall(rf"(.*?){MARK} (\d+)\n", text, flags=re.DOTALL)


def _check_install(block: Block, command: str) -> None:
    names = {package.name for package in repository.packages()}
    names |= {f"nanocoder-{plugin}" for plugin in repository.entry_points()}
    install = INSTALL.fullmatch(command)
    for name in install[1].split() if install else ():
        package = name.strip("'").partition("[")[0].removeprefix("nanocoder-")
        if f"nanocoder-{package}" not in names:
            block.fail(f"there is no package {name!r}")


def _finish(block: Block, command: list[str], folder: Path) -> tuple[str, str]:
    """Run a process to its good end and return what it printed and what it noted."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        block.fail(f"it ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command with the output that the page shows for it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        end = 1
        while end < len(lines) and (lines[end].startswith("> ") or lines[end - 1].endswith("\\")):
            end += 1
        yield (
            "\n".join([lines[0], *(line.removeprefix("> ") for line in lines[1:end])]),
            "\n".join(lines[end:]).strip(),
        )


def _matches(expected: str, printed: str) -> bool:
    lines = (re.escape(line.rstrip()).replace(r"\.\.\.", ".*") for line in expected.splitlines())
    # A line of three dots stands for any number of lines, none among them.
    pattern = "".join(r"(?:.*\n)*" if line == ".*" else f"{line}\n" for line in lines)
    shown = "".join(f"{line.rstrip()}\n" for line in printed.strip().splitlines())
    return re.fullmatch(pattern, shown) is not None


def _compare_with_file(block: Block) -> None:
    file = repository.ROOT / block.value
    if block.text.strip() not in file.read_text(encoding="utf-8"):
        block.fail(f"{block.value} does not have these lines")


def _check_bash(block: Block, folder: Path) -> None:
    (folder / "script").write_text(block.text, encoding="utf-8")
    _finish(block, ["bash", "-n", "script"], folder)


def _parse(load: Callable[[str], object]) -> Callable[[Block, Path], None]:
    def parse(block: Block, _: Path) -> None:
        try:
            load(block.text)
        except ValueError as error:
            block.fail(str(error))

    return parse


def _load_lines(text: str) -> None:
    for line in text.splitlines():
        json.loads(line)


RUNNERS: dict[str, Callable[[Block, Path], None]] = {
    "bash": _check_bash,
    "console": _run_console,
    "json": _parse(json.loads),
    "jsonl": _parse(_load_lines),
    "python": _run_python,
    "toml": _parse(tomllib.loads),
}
