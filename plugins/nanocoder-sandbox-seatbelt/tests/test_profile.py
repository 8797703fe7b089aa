"""The text of a profile, read as Seatbelt reads it: no program of macOS runs here."""

import re
import subprocess

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_sandbox_seatbelt.profile import BASE, NETWORK, Boundary, profile, quote

PLAIN = Boundary("/Users/me/ws", is_writable=True, writable=("/private/var/tmp/n",))
FULL = evolve(
    PLAIN,
    protected=("/Users/me/ws/env/bin",),
    names=(".vscode", ".cargo/bin", "*.code-workspace"),
    released=("/Users/me/ws/.git",),
    hidden=("/Users/me/.ssh", "/Users/me/ws/a/.env"),
)
HOSTILE = (
    '/ws") (allow file-write* (subpath "/',
    "/ws\\",
    '/ws\\"',
    "/ws\n(allow default)\n",
    "/ws;comment",
    "/wé/日本/\u202e",
    "/w.s+(a|b)*[c]{2}^$?",
    '/#"',
    "/a b\t",
)


class Text(str):
    """A string of the profile, not a symbol."""

    __slots__ = ()


TOKEN = re.compile(r'\s+|;[^\n]*|[()]|"((?:[^"\\]|\\.)*)"|[^\s()";]+', re.DOTALL)


def parse(text):
    """Return the rules of a profile; fails where parentheses or quotes do not match."""
    stack, end = [[]], 0
    while end < len(text):
        token = TOKEN.match(text, end)
        assert token, text[end : end + 40]
        end, word = token.end(), token[0]
        if word == "(":
            stack.append([])
        elif word == ")":
            stack[-2].append(stack.pop())
        elif word[0] == '"':
            stack[-1].append(Text(re.sub(r"\\(.)", r"\1", token[1], flags=re.DOTALL)))
        elif not word.isspace() and word[0] != ";":
            stack[-1].append(word)
    [rules] = stack
    return rules


def is_allowed(rules, operation, path):
    """Return the verdict of the last rule that matches *operation* on *path*."""
    verdict = False
    for action, *words in rules:
        filters = [word for word in words if isinstance(word, list)]
        operations = [word for word in words if isinstance(word, str)]
        covers = any(re.fullmatch(each.replace("*", ".*"), operation) for each in operations)
        covers = covers or operations == ["default"]
        if covers and (not filters or any(matches(each, path) for each in filters)):
            verdict = action == "allow"
    return verdict


def matches(rule, path):
    kind, *values = rule
    if kind == "literal":
        return values[0] == path
    if kind == "subpath":
        return f"{path}/".startswith(f"{values[0].rstrip('/')}/")
    if kind == "regex":
        return re.search(values[0], path) is not None
    if kind in ("require-any", "require-all", "require-not"):
        results = [matches(each, path) for each in values]
        return {"require-any": any, "require-all": all, "require-not": lambda r: not r[0]}[kind](
            results
        )
    return False  # of a process, a name or a kind of file


def rules_of(boundary):
    rules = parse(profile(boundary))
    assert rules[0] == ["version", "1"]
    return rules[1:]


# The text


def test_the_profile_of_a_plain_workspace():
    assert profile(PLAIN) == BASE + (
        '(allow file-write* (subpath "/private/var/tmp/n") (subpath "/Users/me/ws"))\n'
        '(deny file-write* (regex "^/Users/me/ws/[hH][eE][aA][dD]$"))\n'
        '(deny file-write-unlink (literal "/Users/me/ws") (literal "/private/var/tmp/n"))\n'
    )


def test_the_profile_with_everything_that_is_kept():
    release = '(require-not (require-any (subpath "/Users/me/ws/.git")))'
    below = "^/Users/me/ws(/[^/]+)*/"
    assert profile(FULL) == BASE + (
        '(allow file-write* (subpath "/private/var/tmp/n") (subpath "/Users/me/ws"))\n'
        f'(deny file-write* (require-all (regex "{below}\\\\.[vV][sS][cC][oO][dD][eE](/|$)")'
        f" {release}))\n"
        f'(deny file-write* (require-all (regex "{below}\\\\.[cC][aA][rR][gG][oO]/[bB][iI][nN]'
        f'(/|$)") {release}))\n'
        f'(deny file-write* (require-all (regex "{below}[^/]*\\\\.[cC][oO][dD][eE]-'
        f'[wW][oO][rR][kK][sS][pP][aA][cC][eE](/|$)") {release}))\n'
        '(deny file-write* (subpath "/Users/me/ws/env/bin"))\n'
        '(deny file-write* (regex "^/Users/me/ws/[hH][eE][aA][dD]$"))\n'
        '(deny file-write-unlink (literal "/Users/me/ws") (literal "/Users/me/ws/a")'
        ' (literal "/Users/me/ws/env") (literal "/private/var/tmp/n"))\n'
        "(deny file-read* file-write* process-exec"
        ' (subpath "/Users/me/.ssh") (subpath "/Users/me/ws/a/.env"))\n'
    )


@pytest.mark.parametrize("boundary", [PLAIN, FULL, evolve(FULL, has_network=True)])
def test_what_denies_comes_after_what_allows(boundary):
    rules = rules_of(boundary)
    assert rules[0] == ["deny", "default"]
    of_files = [rule for rule in rules[1:] if any("file-" in word for word in rule[1:] if word)]
    actions = [rule[0] for rule in of_files]
    assert actions == sorted(actions), "allow, then deny"


# What it lets through


@pytest.mark.parametrize(
    ("path", "reads", "writes"),
    [
        ("/Users/me/ws/src/a.py", True, True),
        ("/Users/me/ws", True, True),
        ("/private/var/tmp/n/x", True, True),
        ("/dev/null", True, False),  # its content only
        ("/etc/hosts", True, False),
        ("/Users/me/ws2/a", True, False),
        ("/Users/me/ws/.vscode", True, False),
        ("/Users/me/ws/sub/.VSCode/tasks.json", True, False),
        ("/Users/me/ws/a\nb/.vscode/x", True, False),
        ("/Users/me/ws/.vscode2", True, True),
        ("/Users/me/ws/x/.cargo/bin/cargo", True, False),
        ("/Users/me/ws/x/.cargo/registry", True, True),
        ("/Users/me/ws/x/My.Code-Workspace", True, False),
        ("/Users/me/ws/HEAD", True, False),
        ("/Users/me/ws/doc/HEAD", True, True),
        ("/Users/me/ws/env/bin/python", True, False),
        ("/Users/me/ws/.git/index", True, True),
        ("/Users/me/.ssh/id_ed25519", False, False),
        ("/Users/me/ws/a/.env", False, False),
        ("/Users/me/ws/a/.env2", True, True),
    ],
)
def test_what_a_command_reads_and_writes(path, reads, writes):
    rules = rules_of(FULL)
    assert is_allowed(rules, "file-read-data", path) == reads
    assert is_allowed(rules, "file-write-create", path) == writes


def test_a_folder_that_holds_something_kept_is_not_moved_away():
    rules = rules_of(FULL)
    for path in ("/Users/me/ws", "/Users/me/ws/a", "/Users/me/ws/env", "/private/var/tmp/n"):
        assert not is_allowed(rules, "file-write-unlink", path)
        assert is_allowed(rules, "file-write-unlink", f"{path}/other")


def test_read_access_leaves_the_folder_for_temporary_files_alone_writable():
    rules = rules_of(evolve(FULL, is_writable=False))
    assert is_allowed(rules, "file-write-data", "/private/var/tmp/n/x")
    for path in ("/Users/me/ws", "/Users/me/ws/a.py", "/Users/me/ws/.git/index"):
        assert is_allowed(rules, "file-read-data", path)
        assert not is_allowed(rules, "file-write-create", path)
    nothing = rules_of(Boundary("/ws", is_writable=False))
    assert not is_allowed(nothing, "file-write-data", "/ws/a")


def test_a_network_is_there_if_it_is_allowed_and_never_by_a_socket_of_a_service():
    names = ("network-outbound", "network-bind", "system-socket")
    assert not any(is_allowed(rules_of(PLAIN), name, "/x") for name in names)
    assert NETWORK in profile(evolve(PLAIN, has_network=True))
    assert "unix-socket" in NETWORK


def test_nothing_by_which_a_program_outside_would_act_is_allowed():
    rules = rules_of(evolve(FULL, has_network=True))
    for name in ("appleevent-send", "lsopen", "job-creation", "file-link", "file-clone"):
        assert not is_allowed(rules, name, "/Users/me/ws/a")
    allowed = {filter_[1] for rule in rules if rule[1] == "mach-lookup" for filter_ in rule[2:]}
    assert not any("Security" in name or "launch" in name.lower() for name in allowed)


# Names that try to get out of their string


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("field", ["root", "writable", "protected", "released", "hidden"])
def test_a_hostile_name_stays_a_name(field, name):
    value = name if field == "root" else (name,)
    plain = evolve(FULL, **{field: "/p" if field == "root" else ("/p",)})
    hostile = evolve(FULL, **{field: value})
    shapes = [shape(rules_of(each)) for each in (hostile, plain)]
    assert shapes[0][: len(shapes[1]) - 2] == shapes[1][:-2], (
        "the same rules, but for folders above"
    )
    assert is_allowed(rules_of(hostile), "file-write-create", "/etc/passwd") is False
    if field == "root":
        rules = rules_of(hostile)
        assert is_allowed(rules, "file-write-create", f"{name.rstrip('/')}/a")
        assert not is_allowed(rules, "file-write-create", f"{name.rstrip('/')}/.vscode/a")


def shape(rules):
    """Return the symbols of *rules*, without what is in their strings."""
    if isinstance(rules, list):
        return [shape(each) for each in rules]
    return "" if isinstance(rules, Text) else rules


@given(st.text())
def test_each_text_is_read_back_as_it_was(text):
    assert parse(quote(text)) == [text]


def test_a_shell_agrees_on_where_an_argument_ends():
    """The profile is one argument, whatever is in it."""
    text = profile(evolve(FULL, root=HOSTILE[3]))
    done = subprocess.run(["printf", "%s", text], capture_output=True, text=True, check=True)
    assert done.stdout == text
