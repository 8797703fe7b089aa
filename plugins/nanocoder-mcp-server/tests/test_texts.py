"""Resources, prompts, completions and log messages: a real server, and the official client."""

from contextlib import asynccontextmanager

import anyio
import mcp_types
import pytest
from command_line import COMMAND
from mcp import Client, MCPError, StdioServerParameters

pytestmark = [pytest.mark.timeout(120), pytest.mark.contract("I25")]
RULES = '[plugins.policy-rules]\ndeny = ["read_file(private/**)"]\nallow = ["bash(echo *)"]\n'
MODES = ("legacy", "auto")


@pytest.fixture
def place(tmp_path, nanocoder, warm):
    """Make a home with a rule, and a workspace with files, a command and a skill."""
    home, cwd = tmp_path / "person", tmp_path / "project"
    files = {
        home / ".config/nanocoder/config.toml": RULES,
        cwd / "a b.txt": "one\n2\ttwo\n",
        cwd / "private/key.txt": "hunter2\n",
        cwd / ".nanocoder/commands/fix.md": "---\nargument-hint: FILE\n---\nFix $1: !`echo now`\n",
        cwd
        / ".nanocoder/skills/tea/SKILL.md": "---\nname: tea\ndescription: Makes it.\n---\nBoil.",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    warm(home)
    return cwd, {**nanocoder.environment, "HOME": str(home)}


@asynccontextmanager
async def client(place, *words, mode="legacy", **options):
    cwd, environment = place
    start = StdioServerParameters(
        command=COMMAND, args=["mcp", "serve", *words], env=environment, cwd=cwd
    )
    async with Client(start, mode=mode, **options) as opened:
        yield opened


@pytest.mark.parametrize("mode", MODES)
def test_files_are_resources_and_a_rule_that_denies_the_tool_denies_them(place, mode):
    cwd = place[0]

    async def use():
        async with client(place, mode=mode) as opened:
            listed = (await opened.list_resources()).resources
            address = next(each.uri for each in listed if each.name == "a b.txt")
            read = (await opened.read_resource(address)).contents[0]
            errors = []
            for uri in (
                f"{cwd.as_uri()}/private/key.txt",
                f"{cwd.as_uri()}/no/../private/key.txt",
                "file:///etc/hostname",
                "other://x",
            ):
                with pytest.raises(MCPError) as refused:
                    await opened.read_resource(uri)
                errors.append(str(refused.value))
            templates = (await opened.list_resource_templates()).resource_templates
            ref = mcp_types.ResourceTemplateReference(
                type="ref/resource", uri=templates[0].uri_template
            )
            completed = await opened.complete(ref, {"name": "path", "value": "a"})
            return listed, address, read, errors, completed.completion.values

    listed, address, read, errors, completed = anyio.run(use)
    assert [each.name for each in listed if "key" in each.name] == []
    assert address == f"{cwd.as_uri()}/a%20b.txt"
    assert (read.text, read.mime_type) == ("one\n2\ttwo", "text/plain")
    assert "private/**" in errors[0]
    assert "hunter2" not in "".join(errors)
    assert errors[-1] == "there is no resource 'other://x'"
    assert completed == ["a b.txt"]


@pytest.mark.parametrize("mode", MODES)
def test_commands_and_skills_are_prompts_and_their_calls_are_judged(place, mode):
    async def use(*words):
        async with client(place, *words, mode=mode) as opened:
            names = [each.name for each in (await opened.list_prompts()).prompts]
            fixed = await opened.get_prompt("fix", {"arguments": "a.py"})
            with pytest.raises(MCPError, match="there is no prompt 'other'"):
                await opened.get_prompt("other", {})
            skill = None
            if "skill:tea" in names:
                skill = await opened.get_prompt("skill:tea", {})
            return names, fixed.messages[-1].content.text, skill

    names, text, skill = anyio.run(use)
    assert {"fix", "skill:tea"} <= {*names}
    assert text.startswith("Fix a.py: ")
    assert "now" in text
    assert "Boil." in skill.messages[-1].content.text
    names, text, _ = anyio.run(use, "--tools", "read_file")
    assert "skill:tea" not in names
    assert "this client is not offered the tool bash: echo now" in text


def test_a_client_that_is_not_offered_the_tool_that_reads_reads_no_file(place):
    async def use():
        async with client(place, "--tools", "grep") as opened:
            listed = (await opened.list_resources()).resources
            with pytest.raises(MCPError, match="there is no resource"):
                await opened.read_resource(f"{place[0].as_uri()}/a%20b.txt")
            return listed

    assert anyio.run(use) == []


@pytest.mark.filterwarnings("ignore:.*2026-07-28")  # of the client's SDK
def test_a_client_hears_of_changes_of_a_file_until_it_wants_no_more(place):
    file, heard = place[0] / "a b.txt", []

    async def use():
        changed = anyio.Event()

        async def hear(message):
            if isinstance(message, mcp_types.ResourceUpdatedNotification):
                heard.append(str(message.params.uri))
                changed.set()

        async with client(place, message_handler=hear) as opened:
            uri = f"{place[0].as_uri()}/a%20b.txt"
            await opened.subscribe_resource(uri)
            file.write_text("changed, and longer\n")
            with anyio.fail_after(20):
                await changed.wait()
            await opened.unsubscribe_resource(uri)
            file.write_text("changed once more, and longer still\n")
            await anyio.sleep(2.5)

    anyio.run(use)
    assert len(heard) == 1
