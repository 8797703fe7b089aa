"""Files that an instruction file names with an @: which count, and which never do."""

import nanocoder_context_files as plugin
import pytest
from nanocoder_context_files.files import imported_names
from nanocoder_testing import opened


def system_of(cwd, **options):
    options = {"environment": {"HOME": "/nonexistent"}, "plugins": {"context-files": plugin}}
    with opened(cwd, ["Done."], **options) as (session, model):
        events = list(session.run("go"))
        notices = [event.data["text"] for event in events if event.kind == "notice"]
        return model.requests[0].system, notices


@pytest.fixture
def write(tmp_path):
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)

    def write_files(**texts):
        for name, text in texts.items():
            path = root / name.replace("__", "/").replace("_md", ".md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return write_files


def test_files_that_a_file_names_follow_it(write):
    root = write(
        CLAUDE_md="Read @docs/rules.md, and @./other.md.",
        docs__rules_md="RULES; more in @deep/more.md",
        docs__deep__more_md="MORE",
        other_md="OTHER @CLAUDE.md @docs/rules.md",
    )
    system, notices = system_of(root)
    assert [system.count(word) for word in ("RULES", "MORE", "OTHER")] == [1, 1, 1]
    assert system.index("Read @docs") < system.index("RULES")
    assert f"{root}/docs/deep/more.md: written by the authors" in system
    assert notices == []


def test_the_file_in_the_folder_of_another_agent_counts(write):
    root = write(**{".claude__CLAUDE_md": "FOLDER @../docs/rules.md"}, docs__rules_md="RULES")
    system, _ = system_of(root)
    assert "FOLDER" in system
    assert "RULES" in system


def test_an_empty_file_hides_no_other(write):
    root = write(AGENTS_md=" \n", CLAUDE_md="OTHER")
    assert "OTHER" in system_of(root)[0]


def test_a_file_that_is_too_large_is_named(write):
    root = write(AGENTS_md="x" * 1_000_001)
    system, notices = system_of(root)
    assert "xxx" not in system
    assert "AGENTS.md is not read as instructions" in " ".join(notices)


def test_nothing_from_outside_comes_in(write, tmp_path):
    (tmp_path / "outside.md").write_text("OUTSIDE")
    root = write(AGENTS_md=f"@../outside.md @{tmp_path}/outside.md @~/outside.md @link.md @no.md")
    (root / "link.md").symlink_to(tmp_path / "outside.md")
    system, notices = system_of(root)
    assert "OUTSIDE" not in system
    (notice,) = notices
    assert "link.md is not read as instructions" in notice


def test_a_loop_and_a_flood_of_imports_end(write):
    many = {f"f{number}_md": f"N{number} @f{number + 1}.md" for number in range(60)}
    system, _ = system_of(write(AGENTS_md="@AGENTS.md @f0.md", **many))
    assert "N10 " in system
    assert "N30 " not in system


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@a.md", ["a.md"]),
        ("see (@docs/a.md).", ["docs/a.md"]),
        ("mail me@example.md", []),
        ("`@a.md`", []),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("~~~\n@a.md", []),
        ("@someone, @scope/package, @.env, @key.pem", []),
        ("@/etc/a.md @~/a.md", []),
    ],
)
def test_names_are_those_of_texts_outside_of_code(text, names):
    assert list(imported_names(text)) == names
