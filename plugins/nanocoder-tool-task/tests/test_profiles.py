"""Profiles: those built in, those of the configuration, and the rules that hold for one alone."""

from types import SimpleNamespace

import pytest
from nanocoder import Decision, PathFilter, Readable, SessionInfo, Verdict, hookimpl
from nanocoder_testing import opened, play
from nanocoder_testing.playing import called
from nanocoder_tool_task import Settings
from nanocoder_tool_task.profile_files import profile_files
from nanocoder_tool_task.profiles import Profile

WRITE = {"name": "write_file", "arguments": {"path": "new.txt", "content": "text\n"}}
READ = {"name": "read_file", "arguments": {"path": "hello.txt"}}


def calls(*requested):
    return {"calls": list(requested)}


@pytest.mark.contract("MA-109")
@pytest.mark.parametrize(("profile", "is_written"), [("review", False), ("build", True)])
def test_a_policy_knows_an_agent_by_the_name_of_its_profile(run, tmp_path, profile, is_written):
    def judge(call, session):
        denied = call.name == "write_file" and session.agent == "review"
        return Verdict(Decision.DENY if denied else Decision.ALLOW, "not for this agent")

    rules = SimpleNamespace(nanocoder_before_execute=hookimpl(judge))
    limits = {"profiles": {"review": Profile()}}
    arguments = {"name": profile}
    run(calls(WRITE), {"text": "x"}, plugins={"rules": rules}, limits=limits, arguments=arguments)
    assert (tmp_path / "new.txt").exists() is is_written


@pytest.mark.contract("MA-84")
def test_a_profile_of_the_configuration_has_its_tools_and_its_instructions(run):
    writer = Profile(tools=("write_*",), instructions="Write in capitals.")
    turns = [calls(READ, WRITE), {"text": "Done."}]
    limits = {"profiles": {"writer": writer}}
    run(*turns, limits=limits, arguments={"name": "writer"})
    assert [event.data["tool"] for event in run.inside("call.started")] == ["write_file"]
    (prompt,) = run.inside("run.started")
    assert prompt.data["prompt"].endswith("Write in capitals.\n\ngo")


@pytest.mark.contract("MA-84")
def test_a_profile_tightens_the_mode_and_never_loosens_it(run):
    turns = [calls(WRITE), {"text": "Done."}]
    for row in ("auto ask ask", "ask auto ask", "plan auto plan"):
        mode, own_mode, expected = row.split()
        limits = {"profiles": {"mine": Profile(mode=own_mode)}}
        run(*turns, limits=limits, arguments={"name": "mine"}, mode=mode)
        (started,) = run.inside("session.started")
        assert started.data["mode"] == expected


@pytest.mark.contract("MA-84", "MA-85")
def test_in_plan_mode_there_are_sub_agents_that_read(tmp_path, script, tools):
    (tmp_path / "hello.txt").write_text("one line\n")
    model = script(calls(WRITE, READ), {"text": "Done."})
    settings = {"tool-task": Settings(model=model)}
    turns = [[("task", {"description": "look", "prompt": "go", "name": "build"})], "A plan."]
    played = play(tmp_path, turns, plugins=tools, settings=settings, mode="plan")
    assert "task" in {tool.name for tool in played.model.requests[0].tools}
    assert [result.output for result in played.results] == ["Done."]
    assert not (tmp_path / "new.txt").exists()


def test_an_unknown_profile_is_told_with_those_that_there_are(run):
    result, _ = run({"text": "x"}, arguments={"name": "nobody"})
    assert result.error_class == "unknown_profile"
    assert "build, explore, general, plan, review, security" in result.output


@pytest.mark.contract("MA-109")
def test_profiles_come_from_the_person_s_own_configuration(tmp_path, script, tools):
    model = script(calls(READ), {"text": "Done."})
    table = f'[plugins.tool-task.profiles.NAME]\nmode = "plan"\nmodel = "{model}"\n'
    folder = script.home / ".config/nanocoder"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(table.replace("NAME", "mine"))
    (tmp_path / ".nanocoder").mkdir()
    (tmp_path / ".nanocoder/config.toml").write_text(table.replace("NAME", "theirs"))
    environment = {"HOME": str(script.home)}
    with opened(tmp_path, plugins=tools, environment=environment) as (session, _):
        session.plugins.configure(session.config.settings)
        arguments = {"description": "x", "prompt": "y"}
        mine, _ = called(session, "task", {**arguments, "name": "mine"})
        theirs, _ = called(session, "task", {**arguments, "name": "theirs"})
    assert mine.output == "Done."
    assert theirs.error_class == "unknown_profile"
    assert any("profiles" in notice for notice in session.config.notices)


def test_a_mode_that_there_is_none_of_is_refused():
    with pytest.raises(ValueError, match="mode must be one of"):
        Profile(mode="reckless")


class Asks(PathFilter):
    def asks(self, path):
        return "a person decides" if path == "asked" else ""


def test_a_file_of_a_profile_is_read_as_far_as_tools_may_and_a_person_sees(tmp_path):
    folder = tmp_path / ".nanocoder/agents"
    folder.mkdir(parents=True)
    head = "---\ndescription: d\n---\n"
    (tmp_path / "asked").write_text(f"{head}canary")
    (folder / "link.md").symlink_to("../../asked")
    (folder / "sly.md").write_text(f"{head}Be kind.\u200b\U000e0041")
    session = SessionInfo("s", tmp_path, readable=Readable([("p", Asks())]))
    link, sly = profile_files(session, with_project=True)
    assert link.profile is None
    assert "a person has to be asked" in link.problem
    assert sly.profile.instructions.endswith(r"Be kind.\u200b\U000e0041")
