"""The words that a rule must name to allow a command: programs and options that run others."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from nanocoder_policy_rules import git_words, shell
from nanocoder_policy_rules.shell import compile_once

# These run other programs, or code in their arguments, so a rule has to say which.
RUNNERS: Final = frozenset(
    {
        *("bash", "sh", "dash", "zsh", "fish", "ksh", "busybox", "env", "sudo", "doas", "su"),
        *("nohup", "nice", "ionice", "timeout", "time", "setsid", "stdbuf", "watch", "xargs"),
        *("parallel", "flock", "chroot", "unshare", "nsenter", "strace", "ltrace", "gdb", "script"),
        *("taskset", "prlimit", "setarch", "systemd-run", "runuser", "fakeroot"),
        *("python", "python2", "python3", "pypy3", "node", "deno", "bun", "ruby", "perl", "php"),
        *("lua", "awk", "gawk", "mawk", "nawk", "sed", "vi", "vim", "nvim", "emacs", "ed"),
        *("npx", "bunx", "uvx", "pipx", "pnpx", "uv", "poetry", "ssh", "scp", "rsync", "docker"),
        *("podman", "kubectl", "tcpdump", "man", "less", "more", "open"),
        *("xdg-open", "osascript", "powershell", "pwsh", "curl", "wget"),
        *("sqlite3", "psql", "mysql", "mariadb", "m4", "dc", "tclsh", "expect", "wish"),
    }
)
# The second word of these only says how they run the third.
_RUNNING_WORDS: Final = {
    **dict.fromkeys(("docker", "podman"), frozenset(("run", "exec", "compose", "container"))),
    **dict.fromkeys(("uv", "poetry", "pipx"), frozenset(("run", "tool"))),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), frozenset(("exec", "x", "dlx"))),
    "kubectl": frozenset(("exec", "run")),
}
# These are the shell's own, except for nanocoder, which could change what it may do itself.
UNRULED: Final = frozenset(
    {
        *("eval", "exec", "source", ".", "builtin", "command", "coproc", "trap", "alias"),
        *("enable", "shopt", "set", "declare", "typeset", "local", "export", "readonly", "let"),
        *("history", "fc", "hash", "bind", "complete", "unset", "read", "mapfile", "printf"),
        *("[[", "[", "test", "cd", "pushd", "popd", "nanocoder"),
        *("if", "then", "else", "elif", "fi", "do", "done", "for", "while", "until", "case"),
    }
)
_GIT_RUNNERS: Final = frozenset(
    ("config", "bisect", "submodule", "filter-branch", "rebase", "difftool", "mergetool", "alias")
)
# With these options an allowed program runs another one, writes elsewhere, follows links out, or
# destroys; a rule allows them only by name. "-x" may be joined to others, "--x" abbreviated.
_RISKY: Final = {
    "date": ("-s", "--set"),
    "du": ("-L", "--dereference"),
    **dict.fromkeys(
        ("gcc", "cc", "g++", "c++", "clang", "clang++"),
        ("-wrapper", "-fplugin", "-B", "-specs", "--specs"),
    ),
    "go": ("-exec", "-toolexec", "-vettool", "-overlay"),
    "mypy": ("--python-executable",),
    "openssl": ("-engine", "-provider-path", "-config"),
    "cargo": ("--config",),
    "find": (
        *("-L", "-follow"),
        *("-exec", "-execdir", "-ok", "-okdir", "-delete"),
        *("-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"),
    ),
    "install": ("--strip-program",),
    "ls": ("-L", "--dereference"),
    "make": ("-E", "--eval"),
    **dict.fromkeys(("npm", "pnpm"), ("--script-shell", "--node-options")),
    "pytest": ("--basetemp",),  # it empties that folder
    "rg": ("--pre", "--hostname-bin", "-z", "--search-zip"),
    "sort": ("-o", "--output", "--compress-program"),
    "tar": (
        *("-I", "-F", "--to-command", "--use-compress-program", "--checkpoint-action"),
        *("--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"),
        *(
            "-P",
            "--absolute-names",
            "--remove-files",
        ),  # writing outside the workspace, deleting what it packs
    ),
    "split": ("--filter",),
    "tree": ("-o", "-l"),
    "xxd": ("-r",),
    "zip": ("-T", "--unzip-command"),
}
_RISKY_GIT: Final = {
    "push": (
        "-f",
        "-d",
        "--force",
        "--force-with-lease",
        "--delete",
        "--mirror",
        "--prune",
        "--exec",
    ),
    "branch": ("-d", "-D", "-f", "-M", "-C", "--delete", "--force"),
    "tag": ("-d", "-f", "--delete", "--force"),
}
# With these `-exec` is an option, and not five of them.
_OPTIONS_ARE_WORDS: Final = frozenset(
    ("find", "go", "gcc", "cc", "g++", "c++", "clang", "clang++", "openssl")
)
_PACKAGE_MANAGERS: Final = frozenset(("npm", "pnpm", "yarn", "bun"))
_HAS_OPTIONS: Final = _PACKAGE_MANAGERS | _RISKY.keys() | {"git"}
_CHAINS: Final = ("&&", "||", ";", "|")
_QUESTIONS: Final = frozenset(("--version", "-V", "--help"))
_CHANGED = r"[$`~><&(){}\\#!]"  # a shell replaces these


def problem(words: Sequence[str], pattern: str) -> str:
    """Return why a pattern of *words* can allow no command, and what to write instead, or ""."""
    program = words[0]
    if sign := next((sign for sign in _CHAINS if sign in pattern), ""):
        return f"each part of a chain needs a rule of its own, without {sign!r}"
    if "'" in pattern or '"' in pattern:
        return "write the words without quotes"
    if sign := "".join(compile_once(_CHANGED).findall(pattern)[:1]):
        return f"a command with {sign!r} is not recognised, so only the rule `bash` allows it"
    if compile_once(shell.ASSIGNMENT).fullmatch(program):
        return "a command that begins with NAME=value is not recognised; only `bash` allows it"
    if program in UNRULED:
        return f"{program} decides what later commands do, so only the rule `bash` allows it"
    return "" if _is_question(words) and not pattern.endswith("*") else _too_wide(words)


def _is_question(words: Sequence[str]) -> bool:
    """Tell whether the words of a rule only ask a program for its version or its help."""
    return len(words) == len(("PROGRAM", "OPTION")) and words[1] in _QUESTIONS


def _too_wide(words: Sequence[str]) -> str:
    program, *others = words[0].rpartition("/")[2], *words[1:]
    if program == "git":
        return _git_too_wide(others)
    needed = 1 if program in RUNNERS else 0
    if others and others[0] in _RUNNING_WORDS.get(program, ()):
        needed = 2
    if sum(map(_names_something, others)) >= needed:
        return ""
    example = _EXAMPLES.get(program, f"{program} PROGRAM *")
    return (
        f"{program} runs what its arguments name; name that, too, as in `bash({example})`, "
        "or allow every command with `bash`"
    )


def _git_too_wide(others: Sequence[str]) -> str:
    if not others or not _names_something(others[0]):
        return (
            "git does too much to be allowed as a whole; name the subcommand, as in "
            "`bash(git status)` or `bash(git diff *)`, or allow every command with `bash`"
        )
    if others[0] in _GIT_RUNNERS and not others[1:]:
        example = "--get" if others[0] == "config" else "WORD"
        return (
            f"git {others[0]} decides which programs git starts; name what it is to do, "
            f"as in `bash(git {others[0]} {example} *)`"
        )
    return ""


_EXAMPLES: Final = {
    **dict.fromkeys(("python", "python3", "pypy3"), "python3 -m pytest *"),
    "npx": "npx tsc *",
    "uv": "uv run pytest *",
    "sed": "sed -n 1,20p *",
    "node": "node scripts/build.js",
    "docker": "docker compose up *",
}


def _names_something(word: str) -> bool:
    """Tell whether a word of a rule names a program: no option, number, variable or wildcard."""
    is_wild = not {*"*?["}.isdisjoint(word)
    is_number = word[:1].isdigit() and word.rstrip("smhd").replace(".", "").isdigit()
    return bool(word) and not (is_wild or is_number or word[0] == "-" or "=" in word)


def fits(rule_words: Sequence[str], words: Sequence[str]) -> bool:
    """Tell whether a rule's words begin a command that does nothing beyond them."""
    if (
        not rule_words
        or words[0] in UNRULED
        or len(rule_words) > len(words)
        or rule_words[0] != words[0]
    ):
        return False
    if _is_question(rule_words):
        return [*rule_words] == [*words]  # with more words it may do anything
    if _fits_nothing(tuple(rule_words)):
        return False
    pairs = zip(rule_words, words, strict=False)
    if not all(word == want or fnmatchcase(word, want) for want, word in pairs):
        return False
    return not risky_option(words, rule_words)


@lru_cache(maxsize=1_024)
def _fits_nothing(rule_words: tuple[str, ...]) -> bool:
    return bool(problem(rule_words, ""))


def risky_option(words: Sequence[str], named: Sequence[str]) -> str:
    """Return the option with which a command does more than its program's name says, or "".

    Options that a rule has *named* do not count.
    """
    program = words[0].rpartition("/")[2]
    if program not in _HAS_OPTIONS:
        return ""
    rest = [word for word in words[1:] if word not in named]
    if program == "git" and len(words) > 1:
        running = git_words.running_option([words[1], *rest])
        options = _RISKY_GIT.get(words[1], ())
        refspec = next((word for word in rest if words[1] == "push" and word[:1] in "+:"), "")
        return running or refspec or _first_of(options, rest)
    if program in _PACKAGE_MANAGERS and words[1:2] != named[1:2]:
        return next(iter(_RUNNING_WORDS[program] & {*words[1:2]}), "")
    if program == "tar" and rest and words[1] == rest[0] and not rest[0].startswith("-"):
        rest[0] = f"-{rest[0]}"  # `tar xf` is the old form of `tar -xf`
    return _first_of(_RISKY.get(program, ()), rest, in_words=program in _OPTIONS_ARE_WORDS)


def _first_of(options: Sequence[str], words: Sequence[str], *, in_words: bool = False) -> str:
    """Return the first of *words* that is, or begins, one of *options*."""
    short = {option[1] for option in options if option[1] != "-" and not in_words}
    for word in words:
        if word == "--":
            return ""
        if in_words:
            is_named = word.startswith("-") and any(
                word.lstrip("-").startswith(option.lstrip("-")) for option in options
            )
        elif word.startswith("--"):
            name = word.partition("=")[0]
            is_named = name != "--" and any(option.startswith(name) for option in options)
        else:
            is_named = word.startswith("-") and not short.isdisjoint(word[1:])
        if is_named:
            return word
    return ""
