"""What a reading command looks at, exactly: these tests are what mutants of the list meet."""

import pytest
from nanocoder_policy_rules.reading_commands import (
    are_safe,
    is_safe,
    may_search_through,
    searched_folders,
    with_input,
)
from nanocoder_policy_rules.shell import Simple, commands


class Looks:
    """Notes what a command would look at, and refuses the paths *refused*."""

    def __init__(self, *refused):
        self.refused = refused
        self.places = []

    def may_read(self, path, directory):
        """Note a file or folder that is read."""
        return self.note(path, directory)

    def may_search(self, path, directory, *, hidden, follows=False):
        """Note a folder that is searched."""
        more = (" hidden" if hidden else "") + (" following" if follows else "")
        return self.note(path, directory, f"search {path}{more}")

    def is_installed(self, name, directory):
        """Note a program that is started."""
        return self.note(name, directory, f"program {name}")

    def is_plain_repository(self, directory, *, showing=()):
        """Note a repository."""
        return self.note("repository", directory)

    def note(self, path, directory, place=""):
        """Note *place* and tell whether *path* is not refused."""
        self.places.append((place or path) + (f" in {directory}" if directory != "." else ""))
        return path not in self.refused


READING = {
    "pwd": "",
    "whoami": "",
    "id -un": "",
    "true": "",
    "echo --anything -x a": "",
    "basename -s .py a": "",
    "tr -d a": "",
    "cat": "",
    "cat -": "",
    "cat a": "a",
    "cat a - b": "a, b",
    "cat -A a -n b": "a, b",
    "cat -An --number a": "a",
    "cat -- -n --x -- a": "-n, --x, --, a",
    "head -20 a": "a",
    "head -n 5 a": "a",
    "head -n5 a": "a",
    "head -qn5 a": "a",
    "head -qn 5 a": "a",
    "head --lines=5 a": "a",
    "head --lines 5 a": "a",
    "head --lines= a": "a",
    "cut -d , -f1 --complement a": "a",
    "sort -rk 2 -t, --unique a": "a",
    "ls --color -la": "",
    "date": "",
    "date -u +%s": "",
    "seq -w 1 999999": "",
    "seq": "",
    "sed -n 1p": "",
    "sed -n 10,20p a b": "a, b",
    "sed -n '1,$p' a": "a",
    "sed -n -E '$p' a": "a",
    "sed -ns 1p -n -": "",
    "jq .": "",
    "jq -r '.a[0] | .b' a": "a",
    "uniq": "",
    "uniq -c a": "a",
    "find": "",
    "find a b -name x -o -type f -print": "a, b",
    "find . -not -path x -size 3": ".",
    "grep x": "",
    "grep -n x a b": "a, b",
    "grep -e x a": "a",
    "grep -ex a": "a",
    "grep -ne x a b": "a, b",
    "grep -e x -e y a": "a",
    "grep -A3 -B 2 x a": "a",
    "grep -20 x a": "a",
    "grep x - a": "a",
    "grep -n word dir/a": "dir/a",
    "grep -r x": "search . hidden",
    "grep -rn x a b": "search a hidden, search b hidden",
    "grep -nr -e x": "search . hidden",
    "grep -r x -": "",
    "grep --recursive x a": "search a hidden",
    "grep -r --include='*.py' x": "search . hidden",
    "grep -r --include x y a": "search a hidden",
    "rg x": "search .",
    "rg x a b": "search a, search b",
    "rg going": "search .",
    "rg -tX x": "search .",
    "rg -t py x a": "search a",
    "rg x -": "",
    "rg -g y x": "search . hidden",
    "rg --glob=y x a": "search a hidden",
    "rg --glob y x": "search . hidden",
    "rg --files": "",
    "rg --files a": "a",
    "rg x --files a": "search a",
    "cat a | rg x": "a",
    "cat a | rg x b": "a, search b",
    "cat a | grep -r x": "a, search . hidden",
    "cat a | id": "a",
    "cat a; rg x": "a, search .",
    "cd a && cat b": "a, b in a",
    "cd a && cat b | head -1": "a, b in a",
    "cd a && ls && rg x b": "a, search b in a",
    "cd a && find b": "a, b in a",
    "cd a && grep -r x": "a, search . hidden in a",
    "python3 --version": "program python3",
    "cd a && node -v | head -1": "a, program node in a",
    "git status": "repository",
    "cd a && git status": "a, repository in a",
}
NOT_READING = [
    *(
        "frobnicate",
        "frobnicate --version",
        "python3",
        "python3 --version x",
        "id root",
        "whoami x",
        "cat --help",
        "cat -X a",
        "cat -nX a",
        "cat -5 a",
    ),
    *("head -5x a", "head -n", "head -qn", "head --lines", "head --lines=5 -X", "head --line=5 a"),
    *(
        "head --number a",
        "head -- a -n b | xargs",
        "date 0101",
        "date +%s 0101",
    ),
    *("seq 1 1000000", "seq 1 a", "seq x", "sed 1p a", "sed -n", "sed -n 1d a", "sed -n 1p -i a"),
    *("sed -n 1pw a", "sed -nx 1p", "sed -E -s 1p a", "jq", "jq env a", "jq -x . a", "uniq a b"),
    *("find -exec x", "find a -delete", "find a -name", "find -L a", "find a -newer b"),
    *("grep -R x", "grep x a -A", "grep --nothing x a", "grep x --include", "grep -f a", "grep -e"),
    *("rg --hidden x", "rg --follow x", "rg -u x", "rg --pre a x", "rg -g", "rg --files --hidden"),
    *("cd", "cd a", "cd a; ls", "cd a || ls", "cd a | ls", "cd a && ls; pwd", "cd a && ls || pwd"),
    *(
        "cd a b && ls",
        "cd -P a && ls",
        "cd - && ls",
        "cd -a && ls",
        "ls && cd a",
        "ls a && frobnicate",
    ),
    *("frobnicate && ls a", "cd a && frobnicate", "git stash", "cd a && git stash"),
]


def safe(text, looks):
    """Tell whether the commands of *text* only read."""
    return are_safe(commands(text), looks)


@pytest.mark.parametrize("text", READING)
def test_a_reading_command_looks_at_these_places_and_runs_if_it_may_look_at_all(text):
    looks = Looks()
    assert safe(text, looks) is True
    assert looks.places == [place for place in READING[text].split(", ") if place]
    for place in looks.places:
        path = place.removeprefix("search ").removeprefix("program ").partition(" ")[0]
        assert not safe(text, Looks(path)), path


@pytest.mark.parametrize("text", NOT_READING)
def test_any_other_program_option_or_operand_is_not_reading(text):
    assert not safe(text, Looks())


def test_the_settings_of_ripgrep_may_show_hidden_files(monkeypatch):
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", "")
    looks = Looks()
    assert safe("rg x", looks)
    assert looks.places == ["search . hidden"]


def test_a_command_runs_in_the_workspace_unless_it_says_where():
    looks = Looks()
    assert is_safe(["cat", "a"], looks)
    assert is_safe(["git", "status"], looks)
    assert looks.places == ["a", "repository"]


def test_ripgrep_behind_a_pipe_reads_the_pipe():
    assert with_input(Simple("|", ("rg", "x"))) == ("rg", "x", "-")
    assert with_input(Simple("&&", ("rg", "x"))) == ("rg", "x")
    assert with_input(Simple("|", ("grep", "x"))) == ("grep", "x")


SEARCHING = {
    "frobnicate -r x a": "",
    "cat a": "",
    "sort -r a": "",
    "grep x a": "",
    "grep -n x": "",
    "grep -r x": "search . hidden",
    "grep -rn x a b": "search a hidden, search b hidden",
    "grep -R x a": "search a hidden following",
    "grep --dereference-recursive x a": "search a hidden following",
    "grep -r --deref a": "search a hidden following, search . hidden following",
    "grep --rec x a": "search x hidden, search a hidden, search . hidden",
    "grep -d recurse x": "search recurse hidden, search x hidden, search . hidden",
    "grep --directories=recurse x a": "search a hidden",
    "grep --directories recurse x a": "search a hidden",
    "grep -r -T x a": "search a hidden",
    "grep -r -ybz x a": "search a hidden",
    "grep -X x a": "",
    "grep -r --weird x a": "search x hidden, search a hidden, search . hidden",
    "grep -r -X x a": "search x hidden, search a hidden, search . hidden",
    "rg x --weird a": "search x hidden, search a hidden, search . hidden",
    "rg -X x a": "search x hidden, search a hidden, search . hidden",
    "grep -r -- -R a": "search a hidden following",
    "grep -r x - a": "search a hidden",
    "grep -- x a": "",
    "egrep -r x a": "search x hidden, search a hidden, search . hidden",
    "rg x": "search .",
    "rg x a": "search a",
    "rg -L x a": "search a hidden following",
    "rg --follow x a": "search a hidden following",
    "rg --fol a": "search a hidden following, search . hidden following",
    "rg -R x a": "search x hidden, search a hidden, search . hidden",
    "rg -. x a": "search a hidden",
    "rg -u x a": "search a hidden",
    "rg --hidden x a": "search a hidden",
    "rg --no-ignore x": "search . hidden",
    "rg --unrestricted x": "search . hidden",
    "rg -g y x a": "search a hidden",
    "rg --glob=y x a": "search a hidden",
    "rg --weird x a": "search x hidden, search a hidden, search . hidden",
    "rg x -": "",
}


@pytest.mark.parametrize("text", SEARCHING)
def test_a_search_that_a_rule_allows_goes_through_these_folders(text):
    looks = Looks()
    assert may_search_through(text.split(), looks, ".")
    assert looks.places == [place for place in SEARCHING[text].split(", ") if place]
    for place in looks.places:
        path = place.removeprefix("search ").partition(" ")[0]
        assert not may_search_through(text.split(), Looks(path), "."), path


def test_a_search_starts_in_its_directory():
    looks = Looks()
    assert may_search_through(["rg", "x"], looks, "src")
    assert looks.places == ["search . in src"]


def test_a_folder_that_the_rule_names_is_searched_only_where_it_may_be_read():
    looks = Looks("/outside")
    assert may_search_through(["rg", "x", "/outside", "a"], looks, ".", ["/outside", "a"])
    assert looks.places == ["/outside", "a", "search a"]
    assert not may_search_through(["rg", "x", "/outside"], looks, ".", ["a"])


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("grep x a", None),
        ("grep -r x a", (["a"], True)),
        ("grep -r x", (["."], True)),
        ("rg x", (["."], False)),
        ("rg -g y x a", (["a"], True)),
        ("rg --weird x a", (["x", "a", "."], True)),
        ("rg -L -b x a", (["a"], True)),
    ],
)
def test_the_folders_of_a_search_are_told(text, folders):
    assert searched_folders(text.split()) == folders
