"""Everyday commands, and what becomes of each in a sandbox: `python …/everyday_commands.py`.

The rows are the table of docs/reference/sandboxed-commands.md, which this script writes, and
test_everyday_commands.py runs each of them in bubblewrap and in Landlock.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from attrs import field, frozen
from nanocoder import Access

PAGE: Final = Path(__file__).parents[2] / "docs/reference/sandboxed-commands.md"
MARKS: Final = ("<!-- rows: written by everyday_commands.py -->\n", "<!-- end of rows -->\n")
READ, WRITE = Access.READ, Access.WRITE
BOTH: Final = ("bwrap", "landlock")
TITLES: Final = {READ: "Read-only: mode ask", WRITE: "Workspace writable: modes edits and auto"}
LISTING: Final = "the names at the root of the workspace"
OFFLINE_S: Final = 15.0
"""So long a command that needs the network may take until it has failed."""
SECRET: Final = "hunter2-of-the-shop"
FILES: Final = {
    ".env": f"SHOP_PASSWORD={SECRET}\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n.venv/\n/native/area\n.env\n",
    "Makefile": "native/area: native/area.c\n\tcc -O1 -o $@ $<\n",
    "README.md": "# shapes\n",
    "native/area.c": '#include <stdio.h>\nint main(void) { printf("%d\\n", 2 * 3); return 0; }\n',
    "package.json": '{"name": "shapes", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p no:benchmark"\n',
    "shapes/__init__.py": "from shapes.area import area\n",
    "shapes/area.py": "def area(width, height):\n    return width * height\n",
    "test/area.test.js": (
        "const test = require('node:test');\n"
        "test('an area', () => require('node:assert').equal(2 * 3, 6));\n"
    ),
    "tests/test_area.py": (
        "from shapes import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n"
    ),
}
"""A small repository: a Python package, a JavaScript test, a C program, and a secret."""
IDENTITY: Final = (
    "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
)


@frozen
class Row:
    """A command with the *access* of its processes, and what *happens*, for the page.

    What the test checks: the exit *code*, None for any but 0; what it *prints* and what it *hides*,
    a part of its output or not in it; names at the workspace's root that it *adds*, and no
    others. With *is_kept_out* it fails, or says that nothing took effect. *outside* is a command
    that then prints *shows*, without a sandbox. *before* runs first, in a call of its own, in the
    background if *serves*. *within_s* is how long it may take.
    *landlock* is a part of what Landlock answers that refuses it, or what runs before.
    """

    command: str
    access: Access
    happens: str
    code: int | None = 0
    prints: str = ""
    hides: str = ""
    adds: frozenset[str] = field(default=frozenset(), converter=frozenset)
    is_kept_out: bool = False
    outside: str = ""
    shows: str = ""
    before: str = ""
    serves: bool = False
    within_s: float = 60.0
    sandboxes: tuple[str, ...] = BOTH
    landlock: str = ""


THROWN_AWAY: Final = (
    "changes nothing: bubblewrap throws away what it writes, and says so; Landlock refuses it"
)
NOT_TMP: Final = "only $TMPDIR is writable, not /tmp"
POOL: Final = "from multiprocessing import Pool; print(sum(Pool(2).map(abs, range(-4, 0))))"  # 10

ROWS: Final = (
    Row("git status --short", READ, "works", prints=" M shapes/area.py\n?? notes.txt"),
    Row("git diff", READ, "works", prints="+    # in square metres"),
    Row("git log --oneline", READ, "works", prints="Count areas"),
    Row("git show --stat HEAD", READ, "works", prints="shapes/area.py"),
    Row("ls -A", READ, "lists what is there, and nothing else", prints=LISTING),
    Row("grep -rn 'def area' . | head -5", READ, "works", prints="shapes/area.py:1:def area"),
    Row(
        "grep -rsh PASSWORD . || true",
        READ,
        "a file with secrets is not readable",
        hides=SECRET,
    ),
    Row("du -sk . | cut -f2", READ, "works", prints="."),
    Row("locale | head -1", READ, "has your language and encoding", prints="LANG=C.UTF-8"),
    Row("python -m pytest -q", READ, "works, without a cache", prints="1 passed"),
    Row("npm test", READ, "works", prints="pass 1"),
    Row(f'python -c "{POOL}"', READ, "works", prints="10"),
    Row(
        "echo 'print(6)' > /tmp/try.py && python /tmp/try.py",
        READ,
        "works: `/tmp` is the session's own; Landlock refuses it, and says that `$TMPDIR` is",
        prints="6",
        landlock=NOT_TMP,
    ),
    Row('f=$(mktemp) && echo kept > "$f" && cat "$f"', READ, "works", prints="kept"),
    Row("echo x > made.txt", READ, THROWN_AWAY, is_kept_out=True),
    Row("sed -i 's/width/w/' shapes/area.py", READ, THROWN_AWAY, is_kept_out=True),
    Row("git commit -qam 'Name the unit'", READ, THROWN_AWAY, is_kept_out=True),
    Row("rm -r shapes", READ, THROWN_AWAY, is_kept_out=True),
    Row("python -m pytest -q", WRITE, "works", prints="1 passed", adds=[".pytest_cache"]),
    Row("npm test", WRITE, "works", prints="pass 1"),
    Row(
        "git add -A",
        WRITE,
        "works",
        outside="git diff --cached --name-only",
        shows="notes.txt\nshapes/area.py\n",
    ),
    Row(
        "git commit -qam 'Name the unit'",
        WRITE,
        "works",
        outside="git log -1 --format=%s%n%an && git fsck",
        shows="Name the unit\nAda\n",
    ),
    Row(
        "git stash",
        WRITE,
        "works",
        outside="git stash list | wc -l && git status --short",
        shows="1\n?? notes.txt\n",
    ),
    Row(
        "git reset -q --hard HEAD~1",
        WRITE,
        "works",
        outside="git log -1 --format=%s && git status --short",
        shows="Begin\n?? notes.txt\n",
    ),
    Row(
        "git checkout -q -b unit && git commit -qam Unit && git checkout -q main",
        WRITE,
        "works",
        outside="git log -1 --format=%s unit && git branch --show-current",
        shows="Unit\nmain\n",
    ),
    Row(
        "git checkout -- shapes/area.py",
        WRITE,
        "works",
        outside="git status --short",
        shows="?? notes.txt\n",
    ),
    Row(
        "git diff > unit.patch && git apply -R unit.patch && git apply unit.patch",
        WRITE,
        "works",
        adds=["unit.patch"],
        outside="git status --short shapes",
        shows=" M shapes/area.py\n",
    ),
    Row(
        "git mv README.md READ.md && git tag v1",
        WRITE,
        "works",
        adds=["READ.md"],
        outside="git tag && git status --short READ.md",
        shows="v1\nA  READ.md\n",
    ),
    Row(
        "python -m venv .venv && .venv/bin/python -c 'import sys; print(sys.prefix)'",
        WRITE,
        "works",
        prints=".venv",
        adds=[".venv"],
        outside=".venv/bin/python -c 'print(6)'",
        shows="6\n",
    ),
    Row(f'python -c "{POOL}"', WRITE, "works", prints="10"),
    Row(
        "mkdir -p a/b && touch a/b/c && mv a/b/c a/d && rm -r a/b",
        WRITE,
        "works",
        adds=["a"],
        outside="ls a",
        shows="d\n",
    ),
    Row(
        "sed -i 's/width/w/g' shapes/area.py",
        WRITE,
        "works",
        outside="head -1 shapes/area.py",
        shows="def area(w, height):\n",
    ),
    Row(
        "gcc -O1 -o native/area native/area.c && native/area",
        WRITE,
        "works",
        prints="6",
        outside="native/area",
        shows="6\n",
    ),
    Row("make && native/area", WRITE, "works", prints="6"),
    Row(
        "tar -czf shapes.tgz shapes && tar -tzf shapes.tgz",
        WRITE,
        "works",
        prints="shapes/area.py",
        adds=["shapes.tgz"],
    ),
    Row(
        "/tmp/run.sh",
        WRITE,
        "works: the next command sees the same `/tmp`; Landlock refuses it, as above",
        before="printf '#!/bin/sh\\necho ran\\n' > /tmp/run.sh && chmod +x /tmp/run.sh",
        prints="ran",
        landlock=NOT_TMP,
    ),
    Row('echo x > "${TMPDIR:-/tmp}/x" && rm "${TMPDIR:-/tmp}/x"', WRITE, "works"),
    Row(
        "curl -sS --retry 5 --retry-delay 1 --retry-connrefused http://127.0.0.1:8765/README.md",
        WRITE,
        "reaches a server that an earlier command started in the background; in Landlock, which"
        " forbids connections, it does not",
        before="exec python -m http.server 8765 --bind 127.0.0.1",
        serves=True,
        prints="# shapes",
        sandboxes=("bwrap",),
    ),
    Row(
        "npm install left-pad",
        WRITE,
        "fails soon: there is no network, and a note says how to allow a host",
        code=None,
        prints="or the user allows ",
        within_s=OFFLINE_S,
    ),
    Row(
        "touch /etc/x ~/x ../x",
        WRITE,
        "fails: only the workspace and `/tmp` are writable",
        code=1,
        outside="ls .. && ls ~",
        shows="home\nshapes\n",
    ),
)


def lay_out(workspace: Path, home: Path) -> None:
    """Make the repository: two commits, a changed file and one that git does not know."""
    home.mkdir()
    (home / ".gitconfig").write_text(IDENTITY)
    for name, text in FILES.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run(workspace, home, "git init -q && git add README.md .gitignore && git commit -qm Begin")
    run(workspace, home, "git add -A && git commit -qm 'Count areas'")
    with (workspace / "shapes/area.py").open("a") as file:
        file.write("    # in square metres\n")
    (workspace / "notes.txt").write_text("measure again\n")


def run(workspace: Path, home: Path, command: str) -> str:
    """Return what a command prints without a sandbox; raises CalledProcessError."""
    return subprocess.run(
        ["/bin/bash", "--norc", "--noprofile", "-c", command],
        cwd=workspace,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def table() -> Iterator[str]:
    """Yield the lines of a table for each access."""
    for access, title in TITLES.items():
        yield f"### {title}\n\n| command | what happens |\n|---|---|\n"
        for row in ROWS:
            if row.access is access:
                first = f", after `{row.before}`" if row.before else ""
                command = f"`{row.command}`{first}".replace("|", "\\|")
                yield f"| {command} | {row.happens} |\n"
        yield "\n"


def page() -> str:
    """Return the page with the rows of today."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    return f"{before}{MARKS[0]}\n{''.join(table())}{MARKS[1]}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
