"""What becomes of protected names that appear while something runs in a sandbox.

The plugin's tests have a fixture *box*, which opens a sandbox: `box(session, settings)`,
and import the fixtures *inside* and *repository*.
"""

import ctypes
import os
import shutil
import subprocess
import time

import pytest
from nanocoder import ToolError
from nanocoder_kit_sandbox import arrivals
from nanocoder_kit_sandbox.inside import MAX_LINES, MORE
from nanocoder_kit_sandbox.sandbox_files import START_S
from sandboxed_place import DEEPEN, PYTHON

CLOCK_S = 2.1
"""After it what was read of a folder is trusted."""
CAPABILITIES_3 = 0x20080522
DAC_CAPABILITIES = 0b110
"""To read, write and search against the mode of a file."""

ARRIVALS = (
    ("mkdir -p sub/.vscode; echo x > sub/.vscode/tasks.json", "sub/.vscode"),
    ("echo x > .yarnrc.yml", ".yarnrc.yml"),
    ("echo x > .npmrc", ".npmrc"),
    ("echo x > .vimrc", ".vimrc"),
    ("echo x > .pre-commit-config.yaml", ".pre-commit-config.yaml"),
    ("echo x > .gitmodules", ".gitmodules"),
    ("echo x > .gitattributes", ".gitattributes"),
    ("mkdir .vscode; echo x > .vscode/tasks.json", ".vscode"),
    ("echo x > .envrc", ".envrc"),
    ("mkdir -p a/b; echo x > a/b/.envrc", "a/b/.envrc"),
    ("mkdir d; ln -s d sub-.idea; mkdir sub; ln -s ../d sub/.idea", "sub/.idea"),
    ("ln -s d .vim", ".vim"),
    ("mkdir x; touch x/.mcp.json; mv x y", "y/.mcp.json"),
)


@pytest.mark.rows(3)
@pytest.mark.parametrize(("command", "name"), ARRIVALS)
def test_a_protected_name_that_appears_is_moved_away(repository, command, name):
    box = repository.open()
    repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    lines = box.changes()
    path = repository.workspace / name
    assert not path.is_symlink()
    assert not path.exists()
    fresh = path.with_name(f"from-sandbox-{path.name.replace('.', '_')}")
    assert fresh.is_symlink() or fresh.exists()
    assert len(lines) == 1
    assert lines[0].startswith(f"{name} was made in the sandbox and is now ")
    assert box.changes() == []


def test_a_protected_name_with_a_deep_tree_is_moved_away(repository):
    box = repository.open()
    command = f"mkdir .vscode; echo x > .vscode/tasks.json; {DEEPEN} .vscode"
    repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    lines = box.changes()
    assert not (repository.workspace / ".vscode").exists()
    assert (repository.workspace / "from-sandbox-_vscode/tasks.json").exists()
    assert lines[0].startswith(".vscode was made in the sandbox and is now from-sandbox-_vscode")
    assert all(len(line) < 500 for line in lines)


def test_commands_run_beside_a_deep_tree(repository):
    repository.run(f"{DEEPEN} deep")
    repository.close()
    assert repository.run("echo works").stdout == "works\n"


def test_a_deep_tree_in_git_keeps_no_protected_name(repository):
    box = repository.open()
    command = f"rm .git/HEAD; {DEEPEN} .git/ORIG_HEAD; {DEEPEN} .git/HEAD; echo > .envrc"
    repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    box.changes()
    repository.close()
    assert not (repository.workspace / ".envrc").exists()
    assert not [*repository.workspace.glob(".git/nanocoder-*")]
    assert "second" in repository.git("log")


def test_what_the_person_made_stays(repository):
    box = repository.open()
    repository.start(box.wrap(["/bin/true"], ()))
    box.changes()
    time.sleep(START_S + 1)
    (repository.workspace / "sub/.vscode").mkdir(parents=True)
    assert box.changes() == []
    repository.start(box.wrap(["/bin/true"], ()))
    assert box.changes() == []
    assert (repository.workspace / "sub/.vscode").is_dir()


INSTALL = {
    "an environment": ("mkdir -p {0}/bin {0}/lib; touch {0}/pyvenv.cfg {0}/bin/tool", ".venv"),
    "one of another name": ("mkdir -p {0}/bin; touch {0}/pyvenv.cfg {0}/bin/tool", "env"),
    "programs of packages": ("mkdir -p {0}/.bin; touch {0}/.bin/tool", "node_modules"),
}


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", INSTALL)
def test_what_is_installed_inside_stays_and_can_be_changed(repository, name):
    install, folder = INSTALL[name]
    box = repository.open()
    repository.start(box.wrap(["/bin/sh", "-c", install.format(folder)], ()))
    assert box.changes() == []
    more = f"for each in {folder}/*bin {folder}/.bin; do [ -d $each ] && echo x > $each/more; done"
    done = repository.start(box.wrap(["/bin/sh", "-c", f"{more}; true"], ()))
    assert done.stderr == ""
    assert box.changes() == []
    assert [path.name for path in (repository.workspace / folder).rglob("more")] == ["more"]


def test_what_the_person_has_installed_cannot_be_changed(repository):
    (repository.workspace / "node_modules/.bin").mkdir(parents=True)
    repository.run("echo x > node_modules/.bin/tool")
    assert not (repository.workspace / "node_modules/.bin/tool").exists()


@pytest.mark.parametrize(
    "entry", ["{}/node_modules/.bin", "node_modules/.bin", "./node_modules/.bin"]
)
def test_a_folder_of_programs_that_shells_outside_search_is_moved_away(
    repository, entry, monkeypatch
):
    path = f"{os.environ['PATH']}:{entry.format(repository.workspace)}"
    monkeypatch.setenv("PATH", path)
    box = repository.open()
    command = "mkdir -p node_modules/.bin; cp evil node_modules/.bin/ls"
    repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    assert "node_modules/.bin was made in the sandbox" in box.changes()[0]
    assert not (repository.workspace / "node_modules/.bin").exists()


def test_a_repository_is_made_where_there_is_none_if_it_is_harmless(repository):
    shutil.rmtree(repository.workspace / ".git")
    box = repository.open()
    repository.start(box.wrap(["/bin/sh", "-c", "git init -q ."], ()))
    assert box.changes() == []
    assert (repository.workspace / ".git/HEAD").exists()
    repository.start(box.wrap(["/bin/sh", "-c", "git config core.fsmonitor $PWD/evil"], ()))
    box.changes()
    repository.git("status")
    assert not (repository.out / "mark").exists()


def test_a_repository_that_starts_programs_is_moved_away(repository):
    shutil.rmtree(repository.workspace / ".git")
    box = repository.open()
    command = "git init -q .; git config core.fsmonitor $PWD/evil"
    repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    assert ".git was made in the sandbox and is now from-sandbox-_git" in box.changes()[0]
    assert not (repository.workspace / ".git").exists()


def test_a_plain_repository_may_be_made(repository):
    box = repository.open()
    repository.start(box.wrap(["/bin/sh", "-c", "git init -q mine"], ()))
    assert box.changes() == []
    assert (repository.workspace / "mine/.git").is_dir()


def test_a_job_that_goes_on_is_looked_after_when_it_ends(repository):
    box = repository.open()
    argv = box.wrap(["/bin/sh", "-c", "sleep 0.5; mkdir -p sub/.vscode"], ())
    with subprocess.Popen(argv, cwd=repository.workspace):
        assert box.changes() == []
    until = time.monotonic() + 40
    while (repository.workspace / "sub/.vscode").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not (repository.workspace / "sub/.vscode").exists()
    assert "sub/.vscode was made in the sandbox" in box.changes()[0]


def test_a_program_that_starts_late_is_looked_after(repository):
    """On a busy machine seconds may pass between the start of a sandbox and its lock."""
    box = repository.open()
    argv = box.wrap(["/bin/sh", "-c", "mkdir -p sub/.vscode"], ())
    late = ["/bin/sh", "-c", f'sleep {START_S + 1}; exec "$@"', "sh", *argv]
    repository.start(late)
    assert "sub/.vscode was made in the sandbox" in box.changes()[0]


def test_a_link_that_is_swapped_in_leads_no_move_outside(repository):
    """The folder above a new name becomes a link to a person's own folder."""
    (repository.out / ".vscode").mkdir()
    box = repository.open()
    repository.start(
        box.wrap(["/bin/sh", "-c", "mkdir -p sub/.vscode; mv sub s; ln -s $OUT sub"], ())
    )
    box.changes()
    assert (repository.out / ".vscode").is_dir()


TIME_BACK = """
import os, sys
before = os.stat("sub")
os.system(sys.argv[1])
os.utime("sub", ns=(before.st_atime_ns, before.st_mtime_ns))
"""
IN_A_FOLDER = (
    ("echo x > sub/.envrc", "sub/.envrc"),
    ("mkdir sub/.vscode", "sub/.vscode"),
    ("git init -q sub; git -C sub config core.fsmonitor $PWD/evil", "sub/.git"),
)


@pytest.mark.rows(1)
@pytest.mark.parametrize(("command", "name"), IN_A_FOLDER)
def test_a_time_that_is_set_back_hides_no_name(repository, command, name):
    """Not in a folder that was there before, and that was read before."""
    (repository.workspace / "sub").mkdir()
    time.sleep(CLOCK_S)
    box = repository.open()
    repository.start(box.wrap(["/bin/true"], ()))
    box.changes()
    argv = [*PYTHON.split(), TIME_BACK, command]
    done = repository.start(box.wrap(argv, ()))
    assert done.returncode == 0, done.stderr
    assert f"{name} was made in the sandbox" in box.changes()[0]
    assert not (repository.workspace / name).exists()


LATE = (
    "git init -q late; touch ready; until [ -e go ]; do sleep 0.02; done;"
    " {make}; touch armed; until [ -e end ]; do sleep 0.02; done"
)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        ("git -C late config core.fsmonitor $PWD/evil", "late/.git"),
        ("mkdir -p sub/.vscode", "sub/.vscode"),
    ],
)
@pytest.mark.parametrize("has_other", [True, False])
def test_a_job_makes_nothing_the_persons_own(repository, make, name, has_other):
    """Neither what was plain when a look was taken, nor what is there when a command starts."""
    box = repository.open()
    argv = box.wrap(["/bin/bash", "--norc", "-c", LATE.format(make=make)], ())
    with subprocess.Popen(argv, cwd=repository.workspace):
        await_path(repository.workspace / "ready")
        assert box.changes() == []
        (repository.workspace / "go").touch()
        if has_other:
            repository.start(box.wrap(["/bin/true"], ()))
        await_path(repository.workspace / "armed")
        until = time.monotonic() + 40  # while the job runs
        while (repository.workspace / name).exists() and time.monotonic() < until:
            time.sleep(0.05)
        remains = (repository.workspace / name).exists()
        (repository.workspace / "end").touch()
    assert not remains
    assert f"{name} was made in the sandbox" in box.changes()[0]


def await_path(path):
    """Wait until a program has made *path*."""
    until = time.monotonic() + 40
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert path.exists()


def test_a_folder_in_the_place_of_a_link_is_moved_away(repository):
    """A program inside can remove a protected link below the root, as there is no mount on it."""
    (repository.workspace / "pk/a").mkdir(parents=True)
    (repository.workspace / "conf").mkdir()
    link = repository.workspace / "pk/a/.vscode"
    link.symlink_to("../../conf")
    box = repository.open()
    repository.start(box.wrap(["/bin/true"], ()))
    assert box.changes() == []
    command = "rm pk/a/.vscode; mkdir pk/a/.vscode; echo x > pk/a/.vscode/tasks.json"
    repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    assert "pk/a/.vscode was made in the sandbox" in box.changes()[0]
    assert not link.exists()


def test_a_link_that_leads_elsewhere_now_is_moved_away(repository):
    (repository.workspace / "pk").mkdir()
    link = repository.workspace / "pk/.vscode"
    link.symlink_to("../conf")
    box = repository.open()
    repository.start(box.wrap(["/bin/sh", "-c", "ln -sfn ../conf pk/.vscode"], ()))
    assert box.changes() == []
    repository.start(box.wrap(["/bin/sh", "-c", "ln -sfn ../evil pk/.vscode"], ()))
    assert "pk/.vscode was made in the sandbox" in box.changes()[0]
    assert not link.is_symlink()


MANY = "import os\nfor n in range(3_500): os.makedirs(f'm/{n}/.vscode')"
NESTED = "import os; os.makedirs('m' + '/.vscode' * 40)"


@pytest.mark.rows(1)
@pytest.mark.parametrize("program", [MANY, NESTED])
def test_of_many_names_none_stays(repository, program):
    box = repository.open()
    repository.start(box.wrap([*PYTHON.split(), program], ()))
    lines = box.changes()
    assert len(lines) == MAX_LINES
    assert lines[-1] == MORE
    assert not list((repository.workspace / "m").rglob(".vscode"))


@pytest.mark.full
def test_names_that_cannot_all_be_moved_in_time_withhold_the_result(repository, monkeypatch):
    box = repository.open()
    with monkeypatch.context() as patch:
        patch.setattr(arrivals, "MOVES_S", 0.0)
        repository.start(box.wrap([*PYTHON.split(), MANY], ()))
        with pytest.raises(ToolError, match="made more names like"):
            box.changes()
    assert MORE in box.changes()
    assert not list((repository.workspace / "m").rglob(".vscode"))


@pytest.mark.full
def test_a_name_is_moved_away_however_many_were_before(repository):
    command = 'n=from-sandbox-_vscode; mkdir sub; while mkdir "sub/$n"; do n=${n}_; done'
    box = repository.open()
    repository.start(box.wrap(["/bin/bash", "--norc", "-c", f"{command}; mkdir sub/.vscode"], ()))
    assert "sub/.vscode was made in the sandbox and is now sub/from-" in box.changes()[0]
    assert not (repository.workspace / "sub/.vscode").exists()


DEEP = """
import os
for number in range(50):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
"""


def test_a_folder_that_is_too_deep_to_be_looked_into_is_named(repository):
    box = repository.open()
    repository.start(box.wrap([*PYTHON.split(), DEEP], ()))
    lines = box.changes()
    assert len(lines) <= 1  # Landlock does not make it
    assert all(
        line.endswith("d was made in the sandbox and cannot be looked into") for line in lines
    )


@pytest.fixture
def without_privilege():
    """Have the folders' modes count, as they do for every user but root."""
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, data = (ctypes.c_uint32 * 2)(CAPABILITIES_3, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    before = data[0]
    data[0] &= ~DAC_CAPABILITIES
    assert libc.capset(header, data) == 0
    yield
    data[0] = before
    assert libc.capset(header, data) == 0


def test_a_folder_that_cannot_be_listed_hides_nothing(repository, without_privilege):
    box = repository.open()
    command = "mkdir -p d/.vscode p/.vscode; git init -q d/e; git -C d/e config core.pager evil;"
    command += " chmod 111 d/e; chmod 311 d; chmod 555 p"
    done = repository.start(box.wrap(["/bin/bash", "--norc", "-c", command], ()))
    assert done.returncode == 0, done.stderr
    lines = "\n".join(box.changes())
    assert "d could not be listed after a program in the sandbox, and now can" in lines
    for name in ("d/.vscode", "d/e/.git", "p/.vscode"):
        assert f"{name} was made in the sandbox" in lines
        assert not (repository.workspace / name).exists()


def test_a_persons_folder_that_cannot_be_listed_stays_as_it_is(repository, without_privilege):
    folder = repository.workspace / "d"
    (folder / ".vscode").mkdir(parents=True)
    folder.chmod(0o311)
    done = repository.run("chmod 755 d; mkdir d/.idea")
    assert "d" in done.stderr
    assert folder.stat().st_mode & 0o777 == 0o311
    assert (folder / ".vscode").is_dir()
    assert not (folder / ".idea").exists()
    folder.chmod(0o755)
