"""The one table of programs that the rules know: what starts others, what only reads, what lasts.

It makes questions fewer or more precise; the sandbox holds what a program can do. Without one, only
`READING` runs unasked.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


Deeds = Mapping[tuple[str, ...], str]
"""What commands do, by the words that they begin with."""


def _by_words(deeds: Mapping[str, str]) -> Deeds:
    return {
        tuple(each.split()): deed for deed, texts in deeds.items() for each in texts.split(", ")
    }


SHELLS: Final = _listed("bash, sh, dash, zsh, ksh, ash")
WRAPPERS: Final = _listed(
    "builtin, chroot, command, coproc, doas, env, exec, find, flock, ionice, nice, nohup, parallel,"
    " setsid, stdbuf, strace, sudo, su, taskset, time, timeout, unshare, watch, xargs"
)
"""Programs that start the program which their arguments name."""
TRANSPARENT: Final = {
    "command": ("p", "", 0),
    "nice": ("n:", "adjustment=", 0),
    "nohup": ("", "", 0),
    "stdbuf": ("i:o:e:", "input= output= error=", 0),
    "time": ("p", "", 0),
    "timeout": ("k:s:v", "foreground kill-after= preserve-status signal= verbose", 1),
}
"""Those of them that change nothing of it: their options, short and long as `getopt` takes them,
and how many arguments stand before it."""
UNRULED: Final = _listed(
    "eval, source, ., trap, alias, enable, hash, shopt, set, nanocoder, declare, typeset, let, [["
)
"""What changes the meaning of later commands, so that no rule for it can be narrow."""
INTERPRETERS: Final = _listed(
    "python, python2, python3, node, deno, bun, ruby, perl, php, awk, sed, less, more, man, curl,"
    " wget, ssh, npx, uvx, pipx, uv run, poetry run, npm exec, pnpm exec, yarn exec, git config,"
    " docker run, docker exec, podman run, podman exec, kubectl exec"
)
"""Programs, some with their first word, that run the code or the program which they are given."""
_GIT: Final = (
    "--exec --upload-pack --receive-pack --config --config-env --exec-path --open-files-in-pager"
    " --ext-diff --template"
)
_DESTROYING: Final = "--force -f --delete -d -D -M -C"
_COMPILERS: Final = "gcc, cc, g++, c++, clang, clang++"
_STARTING: Final = {
    "git": f"-c -u -O -x {_GIT}",
    "git add, git status, git stash": _GIT,
    "git push": f"{_GIT} {_DESTROYING} --force-with-lease --mirror --prune",
    "git branch, git tag, git switch": f"{_GIT} {_DESTROYING}",
    "test, [": "-v",
    _COMPILERS: "-wrapper -fplugin -B -specs --specs",
    "find": "-exec -execdir -ok -okdir -delete -fprint -fprintf -fls",
    "date": "-s --set",
    "rg": "--pre --hostname-bin -z --search-zip",
    "sort": "--compress-program -o --output",
    "tar": "-I -F -P --to-command --use-compress-program --checkpoint-action --absolute-names"
    " --info-script --new-volume-script --rsh-command",
    "make": "-E --eval --file -f",
    "go": "-exec -toolexec -vettool",
    "npm": "--script-shell --node-options",
    "cargo": "--config",
    "split": "--filter",
    "printf": "-v",
    "install": "--strip-program",
}
STARTING: Final = {
    program: tuple(options.split())
    for listed, options in _STARTING.items()
    for program in listed.split(", ")
}
"""Options with which a program starts another one, writes elsewhere or destroys what no undo brings
back: a rule has to name them.

A program with its first word is looked up before the program alone.
"""


class Reading(NamedTuple):
    """The options with which a program only reads, short and long ones as `getopt` takes them.

    *operands* are "paths", "text", "pattern" and then paths, at most "one" path, or "none"; where
    all "words" are shown or are options that only read, none is looked at.
    """

    short: str = ""
    long: str = ""
    operands: str = "paths"


_DIGITS: Final = "0123456789"
READING: Final = {
    "basename": Reading("azs:", operands="text"),
    "cat": Reading("AbEnsTtv", "number"),
    "cut": Reading("szb:c:d:f:", "complement output-delimiter="),
    "date": Reading("uRI", operands="format"),
    "dirname": Reading(operands="words"),
    "echo": Reading(operands="words"),
    "file": Reading("bi", "mime-type brief"),
    "grep": Reading(
        f"ivclLwxEFGPohHsqnaZA:B:C:m:e:{_DIGITS}", "color count ignore-case line-number", "pattern"
    ),
    "head": Reading(f"qvzn:c:{_DIGITS}", "lines= bytes="),
    "ls": Reading("1aAbBcCdfFghiklmnNopqQrsStuUvxX", "all color group-directories-first"),
    "nl": Reading("pb:d:f:h:i:n:s:v:w:"),
    "pwd": Reading("LP", operands="none"),
    "sort": Reading("bdfghinrsuVzk:t:", "numeric-sort reverse unique"),
    "stat": Reading("tc:", "format= printf="),
    "tail": Reading(f"qvzn:c:{_DIGITS}", "lines= bytes="),
    "test": Reading("efdrwxsLhzn"),
    "tr": Reading(operands="words"),
    "true": Reading(operands="none"),
    "uniq": Reading("cdiuzf:s:w:", operands="one"),
    "wc": Reading("clLmw", "lines words bytes chars"),
    "which": Reading(operands="words"),
}
"""What runs unasked without a sandbox, on plain words."""

LASTING: Final = _by_words(
    {
        "pushes to another repository": "git push, git send-pack",
        "opens a pull request": "gh pr create",
        "merges a pull request": "gh pr merge",
        "writes to a pull request": "gh pr comment",
        "reviews a pull request": "gh pr review",
        "closes a pull request": "gh pr close",
        "opens an issue": "gh issue create",
        "writes to an issue": "gh issue comment",
        "publishes a release": "gh release create",
        "deletes a repository": "gh repo delete",
        "opens a merge request": "glab mr create",
        "merges a merge request": "glab mr merge",
    }
)
"""What others see at once, by the words of the command: it needs a person in every mode."""

POWER: Final = _listed("shutdown, reboot, halt, poweroff")
FORMATTING: Final = _listed(
    "mkfs, mkswap, mke2fs, wipefs, blkdiscard, sfdisk, sgdisk, shred, tee, dd"
)
"""Programs that overwrite a disk which they are given."""
REMOVERS: Final = {"rm": "rR", "chmod": "R", "chown": "R", "chgrp": "R"}
"""Programs that go through whole directories, with the options that make them do so."""

NOT_GRANTED: Final = (SHELLS | WRAPPERS | UNRULED | INTERPRETERS | REMOVERS.keys() | FORMATTING) | (
    _listed(
        "cd, pushd, mv, cp, ln, truncate, kill, pkill, killall, scp, rsync, docker, podman,"
        " kubectl, gh, glab, pip, pip3, apt, apt-get, npm install, npm i, git reset, git clean,"
        " git checkout"
    )
)
"""What a person should see each time: it removes, runs code that is named, or reaches others."""
