"""The log of real sessions, and the commands that read it."""

import json
import os
import shutil
import subprocess

import importlib_metadata  # noqa: F401 - takes the standard library's place once it is imported
import nanocoder_policy_audit
import pytest
from nanocoder_policy_audit.commands.sbom import bill_of_materials
from nanocoder_policy_audit.records import RECORDS

DONE = {"text": "Done."}
TOKEN = "ghp_" + "c" * 36
pytestmark = pytest.mark.timeout(60)


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


def log_of(nanocoder):
    return nanocoder.home / ".local/state/nanocoder/audit/audit.jsonl"


def work(nanocoder, *calls, mode="auto", **options):
    script = nanocoder.script(*calls, DONE)
    return nanocoder("run", "--mode", mode, "--model", script, "go", **options)


def records(nanocoder):
    return [json.loads(line) for line in log_of(nanocoder).read_text().splitlines()]


@pytest.mark.parametrize(
    "words", [("explain", "bash", '{"command": "git push"}'), ("coverage",), ("diff", "other.toml")]
)
def test_a_call_that_is_only_judged_is_not_written_down_as_called(nanocoder, words):
    (nanocoder.cwd / "other.toml").write_text("")
    nanocoder("call", "list_files", "{}")
    before = records(nanocoder)
    assert nanocoder("policy", *words).returncode in {0, 1}
    assert records(nanocoder) == before


@pytest.mark.contract("L4")
def test_a_call_is_written_down_from_its_request_to_its_end(nanocoder):
    (nanocoder.cwd / "a.txt").write_text("a\n")
    work(nanocoder, call("read_file", path="a.txt"), call("bash", command=f"echo {TOKEN}"))
    work(nanocoder, call("write_file", path="b.txt", content="x"), mode="ask")
    events = [record["event"] for record in records(nanocoder)]
    assert events[0] == "session started"
    assert events.count("session finished") == 2
    [read, _, write] = [record for record in records(nanocoder) if record["event"] == "called"]
    assert (read["tool"], read["actor"][:14]) == ("read_file", "model scripted")
    assert read["plugin"].startswith("tool-read ")
    story = [
        (record["event"], record.get("decision") or record.get("status") or "")
        for record in records(nanocoder)
        if record.get("call") == write["call"] and record["session"] == write["session"]
    ]
    assert story == [
        ("called", ""),
        ("judged", "ask"),
        ("asked", ""),
        ("refused", ""),
        ("not run", "approval_needed"),
    ]
    judged = next(record for record in records(nanocoder) if record["event"] == "judged")
    assert judged["plugin"].startswith("policy-rules ")
    assert TOKEN not in log_of(nanocoder).read_text()


@pytest.mark.contract("W11")
def test_verify_says_which_line_was_changed(nanocoder):
    work(nanocoder, call("list_files", path="."))
    done = nanocoder("audit", "verify")
    assert (done.returncode, "none changed and none missing" in done.stdout) == (0, True)
    head = nanocoder("audit", "head").stdout.strip()
    assert nanocoder("audit", "verify", "--head", head).returncode == 0
    assert nanocoder("audit", "verify", "--head", "0" * 63 + "1").returncode == 1
    log = log_of(nanocoder)
    content = log.read_text()
    log.write_text(content.replace('"tool":"list_files"', '"tool":"read_files"'))
    done = nanocoder("audit", "verify")
    assert done.returncode == 1
    assert "audit.jsonl:3: the line was changed" in done.stdout
    assert len(done.stdout.splitlines()) == 1
    log.write_text("".join(content.splitlines(keepends=True)[:-1]))
    done = nanocoder("audit", "verify")
    assert (done.returncode, "it should hold record" in done.stdout) == (1, True)


def test_a_script_reads_what_verify_finds(nanocoder):
    work(nanocoder, call("list_files", path="."))
    log = log_of(nanocoder)
    done = nanocoder("audit", "verify", "--output", "json")
    whole = json.loads(done.stdout)
    assert (done.returncode, whole["ok"], whole["problems"]) == (0, True, [])
    assert whole["log"] == str(log)
    assert whole["records"] == len(log.read_text().splitlines())
    log.write_text(log.read_text().replace('"tool":"list_files"', '"tool":"read_files"'))
    done = nanocoder("audit", "verify", "--output", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"]) == (1, False)
    [problem] = report["problems"]
    assert (problem["file"], problem["line"]) == (str(log), 3)
    assert problem["problem"].startswith("the line was changed")


def test_show_prints_each_record_or_those_of_a_session(nanocoder):
    work(nanocoder, call("list_files", path="."))
    work(nanocoder, call("list_files", path="."))
    lines = nanocoder("audit", "show").stdout.splitlines()
    assert len(lines) == len(records(nanocoder))
    session = records(nanocoder)[0]["session"]
    done = nanocoder("audit", "show", "--session", session, "--output", "json")
    assert done.returncode == 0, done.stderr
    assert {record["session"] for record in json.loads(done.stdout)} == {session}
    assert "tool=list_files" in lines[2]


def test_an_export_is_signed_by_a_key_of_the_person(nanocoder, tmp_path):
    work(nanocoder, call("list_files", path="."))
    key = tmp_path / "key"
    keygen = shutil.which("ssh-keygen")
    command = [keygen, "-q", "-t", "ed25519", "-N", "", "-C", "ann", "-f", str(key)]
    subprocess.run(command, check=True)
    done = nanocoder("audit", "export", "june.jsonl", "--sign", str(key))
    assert done.returncode == 0, done.stderr
    exported = nanocoder.cwd / "june.jsonl"
    assert nanocoder("audit", "verify", "june.jsonl").returncode == 0
    allowed = tmp_path / "allowed"
    allowed.write_text(f"ann {key.with_suffix('.pub').read_text()}")
    check = [keygen, "-Y", "verify", "-f", str(allowed), "-I", "ann", "-n", "nanocoder-audit"]
    check += ["-s", f"{exported}.sig"]
    content = exported.read_bytes()
    for text, is_signed in ((content, True), (content + b"x", False)):
        done = subprocess.run(check, input=text, capture_output=True, check=False)
        assert (done.returncode == 0) is is_signed
    again = nanocoder("audit", "export", "june.jsonl")
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    done = nanocoder("audit", "export", "july.jsonl", "--sign", str(tmp_path / "absent"))
    assert (done.returncode, "ssh-keygen did not sign" in done.stderr) == (2, True)


def configure(nanocoder, text):
    folder = nanocoder.home / ".config/nanocoder"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f"[plugins.policy-audit]\n{text}\n")


def test_a_log_that_cannot_be_written_stops_calls_only_where_it_is_required(nanocoder):
    (nanocoder.home / "file").write_text("")
    folder = nanocoder.home / "file" / "audit"
    configure(nanocoder, f'folder = "{folder}"')
    done = work(nanocoder, call("write_file", path="a.txt", content="1"))
    assert done.returncode == 0, done.stderr
    assert (nanocoder.cwd / "a.txt").exists()
    configure(nanocoder, f'folder = "{folder}"\nrequired = true')
    work(nanocoder, call("write_file", path="b.txt", content="1"))
    assert not (nanocoder.cwd / "b.txt").exists()
    result = json.loads(nanocoder("call", "list_files", "{}", "--output", "json").stdout)
    assert result["status"] == "denied"
    assert "the audit log cannot be written" in result["output"]


def test_a_project_may_require_the_log_and_not_move_it(nanocoder):
    (nanocoder.cwd / ".nanocoder").mkdir()
    settings = '[plugins.policy-audit]\nfolder = "."\nrequired = true\n'
    (nanocoder.cwd / ".nanocoder/config.toml").write_text(settings)
    work(nanocoder, call("list_files", path="."))
    assert log_of(nanocoder).exists()
    assert not (nanocoder.cwd / "audit.jsonl").exists()


def test_without_a_log_the_commands_say_so(nanocoder):
    done = nanocoder("audit", "verify")
    assert (done.returncode, "there is no log" in done.stderr) == (2, True)


@pytest.mark.contract("W17")
def test_the_bill_of_materials_is_valid_and_complete(nanocoder):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    done = nanocoder("audit", "sbom")
    assert done.returncode == 0, done.stderr
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(done.stdout) is None
    bill = json.loads(done.stdout)
    components = {component["name"]: component for component in bill["components"]}
    assert {"pluggy", "attrs", "nanocoder-policy-audit", "nanocoder-base"} <= set(components)
    properties = components["nanocoder-policy-audit"]["properties"]
    assert {"name": "nanocoder:plugin", "value": "policy-audit"} in properties
    refs = {component["bom-ref"] for component in bill["components"]}
    refs.add(bill["metadata"]["component"]["bom-ref"])
    for row in bill["dependencies"]:
        assert {row["ref"], *row["dependsOn"]} <= refs


def test_a_plugin_that_is_switched_off_is_not_loaded(nanocoder):
    assert '"value": "tool-web"' in nanocoder("audit", "sbom").stdout
    configure(nanocoder, 'required = false\n[plugins]\ndisable = ["tool-web"]')
    bill = nanocoder("audit", "sbom").stdout
    assert '"value": "tool-read"' in bill
    assert '"value": "tool-web"' not in bill


@pytest.mark.contract("W11")
def test_the_commands_read_a_log_of_several_files(nanocoder):
    work(nanocoder, call("list_files", path="."))
    full = log_of(nanocoder).with_name("audit-000000000007.jsonl")
    count = len(records(nanocoder))
    log_of(nanocoder).rename(full)
    work(nanocoder, call("list_files", path="."))
    done = nanocoder("audit", "verify")
    assert f"{2 * count} records in 2 files, none changed" in done.stdout
    shown = nanocoder("audit", "show", "--output", "json")
    assert [record["seq"] for record in json.loads(shown.stdout)] == list(range(1, 2 * count + 1))
    for path in (full, log_of(nanocoder)):
        assert nanocoder("audit", "verify", str(path)).returncode == 0
    assert nanocoder("audit", "export", "copy.jsonl").returncode == 0
    assert nanocoder("audit", "verify", "copy.jsonl").returncode == 0
    full.unlink()
    done = nanocoder("audit", "verify")
    assert done.returncode == 1
    assert (
        f"audit.jsonl:1: {count} records before record {count + 1} cannot be found" in done.stdout
    )


@pytest.mark.parametrize("command", ["verify", "show", "export copy.jsonl"])
def test_a_pipe_among_the_files_is_refused_at_once(nanocoder, command):
    nanocoder("call", "list_files", "{}")
    pipe = log_of(nanocoder).with_name("audit-000000000001.jsonl")
    os.mkfifo(pipe)
    done = nanocoder("audit", *command.split())
    assert done.returncode == 2
    assert f"{pipe} cannot be read: is not a regular file" in done.stderr


@pytest.mark.contract("W11")
def test_records_cut_away_together_with_the_head_are_noticed(nanocoder):
    for _ in range(2):
        nanocoder("call", "list_files", "{}")
    log = log_of(nanocoder)
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-2]))
    log.with_name("audit.head").unlink()
    nanocoder("call", "list_files", "{}")
    done = nanocoder("audit", "verify")
    assert done.returncode == 1
    assert "records may be missing before this one: the head was removed" in done.stdout


ODD = {
    "no-name": (b"Metadata-Version: 2.1\nVersion: 1\n", ""),
    "other-name": (b"Metadata-Version: 2.1\nName: other name\nVersion: 1?x#y /z\n", ""),
    "no-text": (b"Metadata-Version: 2.1\nName: no-text\nVersion: 1\nLicense: caf\xe9\n", ""),
    "record": (b"Metadata-Version: 2.1\nName: record\nVersion: 1\n", "a,sha256=%%%,x\n"),
    "loop": (b"Metadata-Version: 2.1\nName: loop\nVersion: 1\nRequires-Dist: loop\n", ""),
    "empty": (b"", ""),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_metadata_of_a_package_is_no_reason_to_leave_it_out(tmp_path, monkeypatch, name):
    content, record = ODD[name]
    folder = tmp_path / f"{name.replace('-', '_')}-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_bytes(content)
    (folder / "RECORD").write_text(record)
    (folder / "direct_url.json").write_text("[" * 5_000)
    monkeypatch.syspath_prepend(tmp_path)
    document = bill_of_materials({name: ["odd"]})
    [entry] = [each for each in document["components"] if each["name"] == name]
    assert entry["purl"].startswith(f"pkg:pypi/{name}@")
    assert not set(" ?#") & set(entry["purl"])
    assert entry["bom-ref"] in {each["ref"] for each in document["dependencies"]}


def test_each_event_that_the_plugin_hears_has_a_record():
    assert nanocoder_policy_audit.nanocoder_event.nanocoder_impl["events"] == RECORDS.keys()
