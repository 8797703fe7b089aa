"""Globs of paths in rules and among secrets: one grammar, in all of them."""

import re

import pytest
from nanocoder_policy_rules.settings import Settings

# A pattern, paths that it names, and others like them.
GLOBS = [
    ("config/{prod,stage}.json", ["config/prod.json", "config/stage.json"], ["config/dev.json"]),
    ("*.{key,crt}", ["a.key", "sub/b.crt"], ["a.pub", "akey"]),
    ("{a,b/{c,d}}.txt", ["a.txt", "b/c.txt", "b/d.txt"], ["c.txt", "b/e.txt"]),
    ("key[0-9].txt", ["key1.txt", "sub/key9.txt"], ["keyx.txt", "key10.txt"]),
    ("key[!0-9].txt", ["keyx.txt"], ["key1.txt"]),
    ("app/[id]/*.tsx", ["app/[id]/page.tsx", "app/i/x.tsx"], ["app/x/page.tsx"]),
    ("/secrets/**", ["secrets/a", "secrets/b/c"], ["sub/secrets/a"]),
    ("secrets/**", ["secrets/a", "Secrets/b"], ["sub/secrets/a", "secretsx/a"]),
    ("**/log?", ["log1", "a/b/log2"], ["log", "a/log12"]),
    ("a\\*b", ["a*b"], ["axb"]),
    ("key[[:digit:]].txt", ["key1.txt", "sub/KEY9.txt"], ["keyx.txt"]),
    ("[[:upper:]]x[[:punct:]]", ["Ax-", "ax~"], ["1x-", "axx"]),
    ("[id]/key[0-9]", ["[id]/key1", "i/key2"], ["x/key1"]),
]


@pytest.mark.parametrize(("pattern", "named", "others"), GLOBS)
@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_a_rule_that_forbids_names_what_its_glob_says(pattern, named, others, kind, judge):
    rules = {kind: [f"read_file({pattern})"]}
    for paths, expected in ((named, kind), (others, "allow")):
        for path in paths:
            verdict = judge("read_file", {"path": path}, "auto", **rules)
            assert (str(verdict.decision), path) == (expected, path)


@pytest.mark.parametrize(("pattern", "named", "others"), GLOBS)
def test_a_rule_that_allows_names_the_same(pattern, named, others, judge):
    if pattern.startswith("/"):
        return  # for a rule that allows it is the root of the machine, outside the workspace
    for paths, expected in ((named, "allow"), (others, "ask")):
        for path in paths:
            arguments = {"path": path, "content": ""}
            verdict = judge("write_file", arguments, allow=[f"write_file({pattern})"])
            assert (str(verdict.decision), path) == (expected, path)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("key[[:nope:]]", "there is no class [:nope:]; there are alnum"),
        ("config/{prod,stage.json", "'{' is not closed"),
        ("key[0-9.txt", "'[' is not closed"),
        ("a/../b", "no path in the workspace has"),
        ("a//b", "no path in the workspace has"),
        ("a\\", "a backslash at its end"),
        ("{a,b}" * 7, "more than 64 patterns"),
    ],
)
def test_a_glob_that_is_not_understood_is_no_rule(pattern, problem):
    for key in ("deny", "ask", "allow"):
        with pytest.raises(ValueError, match=re.escape(problem)):
            Settings(**{key: (f"read_file({pattern})",)})
    if "/" not in pattern:
        for key in ("secrets", "not_secrets"):
            with pytest.raises(ValueError, match=re.escape(problem)):
                Settings(**{key: (pattern,)})
    Settings(deny=("web_fetch(https://example.com/a[{)", "bash(git log [a)"))


def test_the_name_of_a_secret_has_no_slash():
    with pytest.raises(ValueError, match="names have no '/'"):
        Settings(secrets=("config/prod.json",))


@pytest.mark.parametrize(
    ("pattern", "named", "others"),
    [
        ("*.{token,crt}", ["a.token", "sub/b.crt"], ["a.txt"]),
        ("key[0-9]", ["key1", "sub/KEY2"], ["keyx"]),
        ("key[!0-9]", ["keyx"], ["key1"]),
        ("vault.*", ["vault.txt"], ["vaults"]),
    ],
)
def test_names_of_secrets_and_their_exceptions_are_globs_too(pattern, named, others, judge):
    for paths, expected in ((named, "deny"), (others, "allow")):
        for path in paths:
            assert judge("read_file", {"path": path}, secrets=[pattern]).decision == expected
    for path in named:
        about = {"secrets": [pattern], "not_secrets": [pattern]}
        assert judge("read_file", {"path": path}, **about).decision == "allow"
