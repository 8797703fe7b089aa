"""Sizes without content, copies, and directories."""

import pytest

pytestmark = pytest.mark.timeout(60)


@pytest.mark.contract("A2")
def test_sizes_are_told_without_the_content(project, call):
    (project / "a.py").write_text("one = 1\n" * 3_000 + "end")
    result = call("read_file", path="a.py", info=True)
    tokens = result["metadata"]["tokens"]
    assert result["output"] == f"3,001 lines, 24,003 bytes, about {tokens:,} tokens"
    assert 10_000 < tokens < 20_000
    (project / "empty").write_text("")
    assert call("read_file", path="empty", info=True)["output"] == (
        "0 lines, 0 bytes, about 0 tokens"
    )
    (project / "b.bin").write_bytes(b"\0" * 500)
    assert call("read_file", path="b.bin", info=True)["output"].endswith(", 500 bytes")
    (project / "large").write_text("line\n" * 2_000_000)
    assert call("read_file", path="large", info=True)["metadata"]["lines"] == 2_000_000


def test_one_of_a_thing_is_told_in_the_singular(project, call):
    (project / "one").write_text("x")
    info = call("read_file", path="one", info=True)
    assert info["output"] == "1 line, 1 byte, about 1 token"
    (project / "b.bin").write_bytes(b"\0")
    assert call("read_file", path="b.bin", info=True)["output"].endswith(", 1 byte")
    assert ", 1 byte;" in call("read_file", path="b.bin")["output"]
    past = call("read_file", path="one", offset=5)
    assert past["output"].endswith("'one' has 1 line")
    assert "1 byte," in call("bash", command="printf '\\000'")["output"]


@pytest.mark.contract("A28")
def test_a_file_is_copied_with_its_mode(project, call):
    (project / "run.sh").write_bytes(b"echo \xff\n")
    (project / "run.sh").chmod(0o755)
    copied = call("move_file", source="run.sh", destination="bin/run.sh", copy=True)
    assert copied["output"] == "Copied: run.sh -> bin/run.sh"
    assert (project / "run.sh").exists()
    assert (project / "bin/run.sh").read_bytes() == b"echo \xff\n"
    assert (project / "bin/run.sh").stat().st_mode & 0o777 == 0o755
    again = call("move_file", source="run.sh", destination="bin/run.sh", copy=True)
    assert again["error_class"] == "file_exists"
    (project / "run.sh").write_text("echo 2\n")
    arguments = {"source": "run.sh", "destination": "bin/run.sh", "copy": True, "replace": True}
    assert call("move_file", **arguments)["status"] == "ok"
    assert (project / "bin/run.sh").read_text() == "echo 2\n"
    folder = call("move_file", source="bin", destination="b", copy=True)
    assert folder["error_class"] == "is_a_directory"


@pytest.mark.contract("A28")
def test_a_secret_is_not_copied_and_nothing_leaves_the_workspace(project, call):
    (project / ".env").write_text("TOKEN=1\n")
    assert call("move_file", source=".env", destination="e", copy=True)["status"] == "denied"
    (project / "a").write_text("a\n")
    outside = call("move_file", source="a", destination="../a", copy=True)
    assert outside["error_class"] in {"path_outside_workspace", "denied"}


@pytest.mark.contract("A28")
def test_a_directory_is_made(project, call):
    made = call("write_file", path="docs/deep/", content="")
    assert made["output"] == "Directory created: docs/deep/"
    assert (project / "docs/deep").is_dir()
    assert call("write_file", path="docs/deep/", content="")["output"].startswith(
        "Directory exists"
    )
    refused = call("write_file", path="docs/deep/", content="text")
    assert refused["error_class"] == "is_a_directory"
