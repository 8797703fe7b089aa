"""Which paths a pattern matches."""

import re
import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nanocoder_kit_files.glob import BadPattern, compile_glob, endings, expand_braces, split_base


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.go", ["a.go", ".go"], ["b/a.go", "a.gox", "a.go\n"]),
        ("**/*.go", ["a.go", "b/a.go", "b/c/a.go"], ["a.py", "b/a.go/c"]),
        ("src/**/*.ts", ["src/a.ts", "src/b/c/a.ts"], ["a.ts", "lib/src/a.ts"]),
        ("src/**", ["src", "src/a", "src/b/a"], ["lib/a", "srca"]),
        ("src/**.py", ["src/a.py", "src/b/a.py"], ["a.py"]),
        ("a**z", ["az", "a/b/z", "axz"], ["a", "bz"]),
        ("**", ["a", "a/b"], []),
        ("a/**/**/b", ["a/b", "a/c/b"], ["b"]),
        ("**/a/**/b/*", ["a/b/c", "x/a/y/b/c"], ["a/b", "a/c"]),
        ("?.py", ["a.py", "\u00e9.py"], ["ab.py", "/.py"]),
        ("[a-c].py", ["b.py"], ["d.py"]),
        ("[!a-c].py", ["d.py"], ["b.py", "/.py"]),
        ("[]a].py", ["].py", "a.py"], ["b.py"]),
        ("[z-a]", ["z", "[z-a]"], ["a"]),
        ("[[:digit:]_]", ["1", "_"], ["a", ":"]),
        ("x[![:alpha:]]", ["x1", "x."], ["xa", "xZ", "x/"]),
        ("[[:punct:]]", ["!", ":", "[", "]", "~", "^"], ["a", " ", "/"]),
        ("[[:space:]]", [" ", "\t"], ["a"]),
        (r"[\]a]", ["]", "a"], ["\\", "b"]),
        (r"[a\-c]", ["a", "-", "c"], ["b"]),
        ("app/[id]/**/*.tsx", ["app/[id]/p.tsx", "app/[id]/x/p.tsx"], ["app/other/p.tsx"]),
        ("[id]/key[0-9]", ["[id]/key1", "i/key2", "[id]/key[0-9]"], ["x/key1"]),
        ("app/[[...slug]]/p", ["app/[[...slug]]/p"], ["app/slug/p"]),
        (r"\[id].tsx", ["[id].tsx"], ["i.tsx"]),
        ("array[].ts", ["array[].ts"], ["array.ts"]),
        ("{[ab],c[d]}x", ["ax", "[ab]x", "cdx", "c[d]x"], ["cx"]),
        ("[a", ["[a"], ["a"]),
        ("{a,b}.{py,go}", ["a.py", "b.go"], ["c.py", "a.b"]),
        ("{src,test}/**/*.py", ["src/a.py", "test/x/a.py"], ["lib/a.py"]),
        ("a{b,{c,d}e}f", ["abf", "acef", "adef"], ["abef"]),
        ("{a}", ["{a}"], ["a"]),
        ("{a,b", ["{a,b"], ["a"]),
        ("{,x}a", ["a", "xa"], ["x"]),
        (r"\*.py", ["*.py"], ["a.py"]),
        (r"\{a,b\}", ["{a,b}"], ["a"]),
        ("./a.py", ["a.py"], []),
        ("a+(b).py", ["a+(b).py"], ["ab.py"]),
    ],
)
def test_patterns_match_what_a_shell_would(pattern, yes, no):
    matches = compile_glob(pattern).fullmatch
    assert [path for path in yes + no if matches(path)] == yes
    assert all(path.endswith(endings(pattern)) for path in yes)


def by_definition(pattern, path):
    """Match part by part, trying every length of every `**`."""
    if not pattern or not path:
        return pattern == path
    if pattern[0] == "**":
        return any(by_definition(pattern[1:], path[n:]) for n in range(len(path)))
    return fnmatchcase(path[0], pattern[0]) and by_definition(pattern[1:], path[1:])


parts = st.one_of(st.just("**"), st.text(st.sampled_from("abc*?"), min_size=1, max_size=5))
names = st.text(st.sampled_from("abc"), min_size=1, max_size=5)


@given(st.lists(parts, min_size=1, max_size=4), st.lists(names, min_size=1, max_size=4))
def test_a_pattern_matches_what_its_definition_says(pattern, path):
    # A last "**" stands for one part or more.
    pattern = [*pattern, "*"] if pattern[-1] == "**" else pattern
    pattern = [part if part == "**" else re.sub(r"\*+", "*", part) for part in pattern]
    matches = compile_glob("/".join(pattern)).fullmatch("/".join(path)) is not None
    assert matches == by_definition(pattern, path)
    assert path[-1].endswith(endings("/".join(pattern))) or not matches


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 30 + "b", "a" * 200),
        ("**/a/" * 30 + "b", "a/" * 200 + "c"),
        ("{a,b}*" * 5, "ab" * 100),
    ],
)
def test_no_pattern_takes_long(pattern, path):
    started = time.process_time()
    compile_glob(pattern).fullmatch(path)
    assert time.process_time() - started < 0.5


def test_a_class_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(BadPattern, match=r"no class \[:nope:\]; there are alnum, alpha"):
        compile_glob("key[[:nope:]].txt")


def test_many_names_with_brackets_mean_themselves_all_together():
    matches = compile_glob("/".join(["[a]"] * 9)).fullmatch
    assert matches("/".join(["a"] * 9))
    assert matches("/".join(["[a]"] * 9))


def test_a_bomb_of_braces_is_refused():
    with pytest.raises(BadPattern, match="64 patterns"):
        compile_glob("{a,b}" * 40)
    with pytest.raises(BadPattern, match="1024 characters"):
        compile_glob("a" * 1_025)


@pytest.mark.parametrize(
    ("pattern", "ends"),
    [
        ("**/*.{py,ts}", (".py", ".ts")),
        ("src/*/a.py", ("a.py",)),
        ("*[a].py", (".py",)),
        ("**/*", ("",)),
        ("*.[ch]", ("",)),
        (r"*.p\y", ("",)),
        ("", ("",)),
    ],
)
def test_how_names_end_is_known_beforehand(pattern, ends):
    assert endings(pattern) == ends


def test_alternatives_keep_their_order():
    assert expand_braces("{a,b}{1,2}") == ["a1", "a2", "b1", "b2"]


@pytest.mark.parametrize(
    ("pattern", "base", "rest"),
    [
        ("src/lib/**/*.py", "src/lib", "**/*.py"),
        ("a.py", "", "a.py"),
        ("src/a.py", "src", "a.py"),
        ("{a,b}/c", "", "{a,b}/c"),
        ("/home/me/*.py", "/home/me", "*.py"),
        ("/*", "/", "*"),
        ("../*.py", "..", "*.py"),
    ],
)
def test_the_fixed_part_of_a_pattern_is_where_to_look(pattern, base, rest):
    assert split_base(pattern) == (base, rest)
