"""Worktrees of repositories that are not as most are."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from nanocoder import hookimpl, tool

ISOLATED = {"isolation": "worktree"}
MERGED = {"isolation": "worktree", "merge": True}
ADD = {"name": "write_file", "arguments": {"path": "made/here.txt", "content": "made\n"}}


def calls(*requested):
    return {"calls": list(requested)}


def offer(*tools):
    return {"more": SimpleNamespace(nanocoder_tools=hookimpl(lambda: list(tools)))}


@pytest.mark.parametrize("head", ["-x", "ä/HEAD", "@", "detached"])
def test_a_head_with_a_strange_name_is_a_head(run, repository, git, head):
    commit = git(repository, "rev-parse", "HEAD")
    place = repository / ".git/refs/heads" / head
    place.parent.mkdir(exist_ok=True)
    place.write_text(commit)
    content = commit if head == "detached" else f"ref: refs/heads/{head}\n"
    (repository / ".git/HEAD").write_text(content)
    result, _ = run(calls(ADD), {"text": "Done."}, arguments=MERGED)
    assert (repository / "made/here.txt").exists(), result.output


def test_a_worktree_of_a_worktree_and_of_its_submodules_is_a_copy_of_their_files(
    run, repository, git, tmp_path
):
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", str(repository), "mod")
    git(repository, "commit", "-qam", "second")
    git(repository, "worktree", "add", "-q", "inner")
    (repository / "mod/code.py").write_text("dirty\n")

    @tool(effects={"read"})
    def names(ctx) -> str:
        """Say what is there."""
        here = ctx.working_directory
        return f"{(here / 'mod/code.py').read_text()}{(here / 'inner/code.py').read_text()}"

    reading = calls({"name": "names", "arguments": {}})
    run(reading, {"text": "Done."}, arguments=ISOLATED, plugins=offer(names))
    outputs = [event.data["output"] for event in run.inside("call.returned")]
    assert outputs == ["dirty\na = 1\nb = 2\nc = 3\nd = 4\ne = 50\n"]


def test_a_repository_that_lost_its_objects_says_so(run, repository, git, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (repository / ".git/objects").rename(elsewhere / "objects")
    (repository / ".git/objects/info").mkdir(parents=True)
    (repository / ".git/objects/info/alternates").write_text("/nonexistent\n")
    result, _ = run({"text": "Done."}, arguments=ISOLATED)
    assert result.error_class == "no_repository"
    assert "cannot be read: objects are missing" in result.output


def test_a_name_that_is_no_text_is_the_same_in_a_worktree(run, repository):
    here = os.fsencode(repository)
    for name in (b"/\xff.txt", b"/\xffd/in.txt", rb"/back\xffslash.txt"):
        os.makedirs(os.path.dirname(here + name), exist_ok=True)
        Path(os.fsdecode(here + name)).write_text("x\n")
    os.symlink("code.py", here + b"/\xfflink")
    paths = []

    @tool(effects={"read"})
    def look(ctx) -> str:
        """Look what there is."""
        for folder, _, names in os.walk(os.fsencode(ctx.working_directory)):
            paths.extend(os.path.join(folder, name) for name in names if b"\xff" in folder + name)
            paths.extend(os.path.join(folder, name) for name in names if b"back" in name)
        return ""

    result, _ = run(
        calls({"name": "look", "arguments": {}}),
        {"text": "Done."},
        arguments=MERGED,
        plugins=offer(look),
    )
    assert result.output == "Done."
    ends = sorted(path.rpartition(b"/nanocoder-")[2].partition(b"/")[2] for path in paths)
    assert ends == [rb"back\xffslash.txt", b"\xff.txt", b"\xffd/in.txt", b"\xfflink"]
