"""The one table of programs that the rules know: what starts others, what only reads, what lasts.

It makes questions fewer or more precise; the sandbox holds what a program can do. Without one, only
`READING` runs unasked.
"""

from typing import Final


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


SHELLS: Final = _listed("bash, sh, dash, zsh, ksh, ash")
WRAPPERS: Final = _listed(
    "builtin, chroot, command, coproc, doas, env, exec, find, flock, ionice, nice, nohup, parallel,"
    " setsid, stdbuf, strace, sudo, su, taskset, time, timeout, unshare, watch, xargs"
)
"""Programs that start the program which their arguments name."""
TRANSPARENT: Final = _listed("command, nice, nohup, stdbuf, time, timeout")
"""Those of them that change nothing of it."""
UNRULED: Final = _listed(
    "eval, source, ., trap, alias, enable, hash, shopt, set, nanocoder, declare, typeset, let, [["
)
"""Programs that change the meaning of later commands, so that no rule for them is narrow."""
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


READING: Final = {
    **dict.fromkeys(("basename", "dirname", "echo", "tr", "true", "which"), r".*"),
    "cat": r"-[AbEnsTtv]*",
    "cut": r"-[szn]*(?:[bcdf][^/]*)?",
    "date": r"-[uRI]|\+.*",
    "file": r"-[bi]*",
    "grep": r"-[ivclLwxEFGPohHsqna\d]*(?:[ABCme][^/]*)?",
    "head": r"-[qvz\d]*(?:[nc][^/]*)?",
    "ls": r"-[1aAbBcCdfFghiklmnNopqQrsStuUvxX]*",
    "nl": r"-[p]*(?:[bdfhinsvw][^/]*)?",
    "pwd": r"-[LP]",
    "sort": r"-[bdfghinrsuVz]*(?:[kt][^/]*)?",
    "stat": r"-[Lt]*(?:c[^/]*)?",
    "tail": r"-[qvz\d]*(?:[nc][^/]*)?",
    "uniq": r"-[cdiuz]*(?:[fsw][^/]*)?",
    "wc": r"-[clLmw]*",
}
"""The programs that run unasked without a sandbox, each with the options that only read.

Each other word has to be a file that may be read.
"""
TAKING_NO_FILE: Final = _listed("date, pwd, uniq")
"""Those of them that change what another word names."""

LASTING: Final = {
    "git": _listed("git push, git send-pack"),
    "gh": _listed(
        "gh pr create, gh pr merge, gh pr comment, gh pr review, gh pr close, gh issue create,"
        " gh issue comment, gh release create, gh repo delete"
    ),
    "glab": _listed("glab mr create, glab mr merge"),
}
"""Commands with effects that others see at once: they need a person in every mode."""

POWER: Final = _listed("shutdown, reboot, halt, poweroff")
FORMATTING: Final = _listed(
    "mkfs, mkswap, mke2fs, wipefs, blkdiscard, sfdisk, sgdisk, shred, tee, dd"
)
"""Programs that overwrite a disk which they are given."""
REMOVERS: Final = {"rm": "rR", "chmod": "R", "chown": "R", "chgrp": "R", "find": "", "rsync": ""}
"""Programs that go through whole directories, some with the options that make them do so."""

NOT_GRANTED: Final = (SHELLS | WRAPPERS | UNRULED | INTERPRETERS | REMOVERS.keys() | FORMATTING) | (
    _listed(
        "cd, pushd, mv, cp, ln, truncate, kill, pkill, killall, scp, rsync, docker, podman,"
        " kubectl, gh, glab, pip, pip3, apt, apt-get, npm install, npm i, git reset, git clean,"
        " git checkout"
    )
)
"""Programs to show each time: they remove, run code that is named, or reach others."""
