"""Held against skills-ref, the reference library of the format."""

import pytest
import skills_ref
from hypothesis import given
from hypothesis import strategies as st
from nanocoder import Workspace
from nanocoder_tool_skill import skill
from nanocoder_tool_skill.catalog import Settings, find_skills

# One document for each feature of the format, and for what people write in heads.
HEADS = {
    "plain": "description: Write release notes.",
    "quoted": 'description: "Notes: what, why, how"',
    "folded": "description: >-\n  Two lines\n  of text.",
    "literal": "description: |\n  First.\n  Second.",
    "coloured": "description: 'It''s about #tags and - dashes'",
    "number-like": 'description: "42"',
    "unicode": "description: Überprüfe die Übersetzung 日本語",
    "licensed": "description: Licensed.\nlicense: Apache-2.0",
    "allowing": "description: Limits tools.\nallowed-tools: Bash(git:*) Read",
    "compatible": "description: Says where it works.\ncompatibility: Needs git and Python 3.11",
    "more": "description: With metadata.\nmetadata:\n  author: acme\n  version: '1.0'",
    "commented": "# a comment\ndescription: After a comment.",
    "longest": f"description: {'x' * 1_024}",
}
NAMES = st.text(alphabet="abcxyz019-_ .ÄäßéΩ日²Aﬁ", min_size=1, max_size=70)


@pytest.fixture
def folder(home):
    """The person's folder of skills, empty."""
    folder = home / ".config/nanocoder/skills"
    folder.mkdir(parents=True)
    return folder


def made(folder, name, head):
    place = folder / name
    place.mkdir(exist_ok=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\n{head}\n---\n\nDo it.\n", "utf-8")
    return place


@pytest.mark.contract("NA-53")
@pytest.mark.parametrize("name", HEADS)
def test_what_the_reference_accepts_is_loaded_with_the_same_description(ctx, folder, name):
    place = made(folder, name, HEADS[name])
    assert skills_ref.validate(place) == []
    ctx.settings = Settings()
    loaded = skill.invoke(ctx, {"name": name, "file": ""})
    expected = skills_ref.read_properties(place)
    assert loaded.data["name"] == expected.name
    assert loaded.data["description"] == " ".join(expected.description.split())
    assert loaded.output == "Do it."


@given(name=NAMES)
def test_a_folder_is_a_skill_exactly_where_the_reference_takes_its_name(tmp_path_factory, name):
    root = tmp_path_factory.mktemp("workspace")
    folder = root / ".nanocoder/skills"
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)  # "." and ".." are there already
    (place / "SKILL.md").write_text(
        f"---\nname: '{name}'\ndescription: Any.\n---\nDo it.\n", "utf-8"
    )
    with Workspace(root) as workspace:
        is_skill = name in find_skills(Settings(), workspace)
    assert is_skill == (skills_ref.validate(place) == [])
