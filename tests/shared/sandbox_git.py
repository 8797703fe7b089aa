"""What becomes of a repository when git, or an attacker, works on it in a sandbox.

The plugin's tests have a fixture *box*, which opens a sandbox: `box(session, settings)`,
and import the fixture *repository*.
"""

import shlex
import shutil
import subprocess
import time

import pytest
from nanocoder_kit_sandbox.git_takeover import CONTESTED
from nanocoder_kit_sandbox.repository import REFUSED
from sandboxed_place import PYTHON

EVERYDAY = (
    ("status",),
    ("diff",),
    ("log", "-p"),
    ("add", "."),
    ("commit", "-q", "--allow-empty", "-m", "of the person"),
    ("checkout", "-q", "-b", "other"),
)
"""Commands that a person runs later, outside."""
NEW = (
    "git init -q neu; git -C neu commit -q --allow-empty -m x;"
    " git -C neu config core.fsmonitor $PWD/evil;"
)
BARE = (
    r"printf '[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\nfsmonitor = %s\n'"
    " $PWD/evil"
)
ATTACKS = {
    "repository in the index": f"{NEW} git update-index --add --cacheinfo"
    " 160000,$(git -C neu rev-parse HEAD),neu",
    "repository of a stranger": NEW,
    "repository in a folder": f"mkdir -p a/b; {NEW} mv neu a/b/c",
    "bare repository": "mkdir bare; cp -r .git/HEAD .git/objects .git/refs bare;"
    f" {BARE} > bare/config",
    "bare repository at the root": "cp -r .git/HEAD .git/objects .git/refs .; echo x > .git/HEAD;"
    f" {BARE} > config",
    "settings of a worktree": r"printf '[core]\nfsmonitor = %s\n' $PWD/evil > .git/config.worktree",
    "settings": "git config core.fsmonitor $PWD/evil",
    "settings elsewhere": "mkdir e; ln -s $PWD/.git/objects $PWD/.git/refs e;"
    r" printf '[core]\nfsmonitor = %s\n' $PWD/evil > e/config; echo ../e > .git/commondir",
    "a rebase": "git rebase -q --exec false HEAD~1; echo exec $PWD/evil >"
    " .git/rebase-merge/git-rebase-todo",
    "a hook": "mkdir -p .git/hooks; cp evil .git/hooks/post-index-change; touch file",
    "another .git": f"{NEW} mv .git old; mv neu/.git .git",
    "a hook of a stranger": f"{NEW} git -C neu config --unset core.fsmonitor;"
    " mkdir -p neu/.git/hooks; cp evil neu/.git/hooks/pre-commit;"
    " cp evil neu/.git/hooks/post-checkout",
    "bare repository in two folders": "mkdir -p bare store; cp .git/HEAD bare;"
    " cp -r .git/objects .git/refs store; echo ../store > bare/commondir;"
    r" printf '[core]\nbare = false\nworktree = .\n' > bare/config.worktree;"
    f" {{ {BARE}; printf '[extensions]\\nworktreeConfig = true\\n'; }} > store/config;"
    " git config -f store/config core.repositoryformatversion 1;"
    " git config -f store/config --unset core.worktree;"
    " git config -f store/config --unset core.bare",
    "a file .git": f"{NEW} mv .git old; echo 'gitdir: neu/.git' > .git",
}


HOOKED = {
    "the folder that core.hooksPath names": (
        "core.hooksPath scripts/hooks",
        "scripts/hooks/post-commit",
    ),
    "a folder of that name in quotes": (
        'core.hooksPath "scripts/my hooks"',
        "scripts/my hooks/post-commit",
    ),
    "a folder that an included file names": (
        "include.path ../local.gitconfig",
        "scripts/hooks/post-commit",
    ),
    "a hook that is a link": ("link", "scripts/hooks/check"),
    "a folder of hooks that is a link": ("folder", "scripts/hooks/post-commit"),
    "a link in that folder": ("core.hooksPath .githooks", "scripts/hooks/check"),
}


def hook(repository, settings, path):
    """Let git run the file at *path* after each commit, by the person's own settings."""
    file = repository.workspace / path
    file.parent.mkdir(parents=True)
    file.write_text("#!/bin/sh\ntrue\n")
    file.chmod(0o755)
    hooks = repository.workspace / ".git/hooks"
    if settings == "link":
        (hooks / "post-commit").symlink_to(f"../../{path}")
    elif settings == "folder":
        shutil.rmtree(hooks)
        hooks.symlink_to("../scripts/hooks")
    else:
        repository.git("config", *shlex.split(settings))
    if "include" in settings:
        included = repository.workspace / "local.gitconfig"
        included.write_text("[core]\n\thooksPath = \\\n scripts/hooks # ours\n")
    if ".githooks" in settings:
        (repository.workspace / ".githooks").mkdir()
        (repository.workspace / ".githooks/post-commit").symlink_to(f"../{path}")


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    "way", ["cat evil > {}", "rm {}; cp evil {}", "mv scripts s; cp -r s scripts; cp evil {}"]
)
@pytest.mark.parametrize("name", HOOKED)
def test_a_hook_of_the_person_stays_as_it_is(repository, name, way):
    settings, path = HOOKED[name]
    hook(repository, settings, path)
    repository.run(way.replace("{}", shlex.quote(path)))
    repository.close()
    (repository.out / "mark").unlink(missing_ok=True)
    repository.git("commit", "-q", "--allow-empty", "-m", "of the person")
    assert "of the person" in repository.git("log", "--format=%s")
    assert not (repository.out / "mark").exists()
    assert (repository.workspace / path).read_text() == "#!/bin/sh\ntrue\n"


@pytest.mark.parametrize("key", ["include.path", "includeIf.gitdir:/.path"])
def test_files_that_settings_include_stay_as_they_are(repository, key):
    path = repository.workspace / "conf/git.ini"
    path.parent.mkdir()
    path.write_text("[include]\n\tpath = more.ini\n")
    (repository.workspace / "conf/more.ini").write_text("[user]\n\tname = a\n")
    repository.git("config", key, str(path))
    evil = "printf '[core]\\nfsmonitor = %s\\n' $PWD/evil"
    repository.run(f"{evil} >> conf/git.ini; {evil} > n; mv n conf/more.ini; mv conf c")
    repository.close()
    assert path.read_text() == "[include]\n\tpath = more.ini\n"
    assert (repository.workspace / "conf/more.ini").read_text() == "[user]\n\tname = a\n"


def test_a_file_that_settings_include_and_that_is_made_inside_is_moved_away(repository):
    repository.git("config", "include.path", "../later.ini")
    box = repository.open()
    repository.start(box.wrap(["/bin/sh", "-c", "echo '[core]' > later.ini"], ()))
    assert "later.ini was made in the sandbox" in box.changes()[0]
    assert not (repository.workspace / "later.ini").exists()


def test_a_folder_of_hooks_that_is_made_inside_is_moved_away(repository):
    repository.git("config", "core.hooksPath", "scripts/hooks")
    box = repository.open()
    command = "mkdir -p scripts/hooks; cp evil scripts/hooks/post-commit"
    repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    assert "scripts/hooks was made in the sandbox" in box.changes()[0]
    assert not (repository.workspace / "scripts/hooks").exists()


def attack(place, name, run):
    """Run an attack; then a person works in the repository, and in each folder."""
    variables = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    variables |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    run(ATTACKS[name], **variables)
    place.git("rebase", "--continue")
    (place.workspace / "file").write_text("changed\n")
    for folder in (".", "neu", "a/b/c", "bare"):
        for words in EVERYDAY if (place.workspace / folder).is_dir() else ():
            place.git("-C", folder, *words)
    return (place.out / "mark").exists()


def outside(place):
    """Return a function that runs a command without a sandbox."""

    def run(command, **variables):
        place.start(["/bin/bash", "--norc", "-c", command], variables)
        (place.out / "mark").unlink(missing_ok=True)

    return run


FORGED = ("../out/escaped", "sub/../escaped", ".vscode/tasks.json")


def forge_index(path, put, settings):
    """Return a command that puts an index with *path* in the place of git's.

    Git does not look at the paths of an index; one has them replaced by others as long.
    """
    other = path.replace(".", "_").replace("/", "_")
    script = (
        "import hashlib, pathlib; index = pathlib.Path('.git/index');"
        f" content = index.read_bytes()[:-20].replace(b'{other}', b'{path}');"
        f" forged = content + hashlib.sha1(content).digest(); {put}"
    )
    return (
        f"cp file {other}; git add {other}; rm {other}; git config {settings} index.version 2;"
        f' {PYTHON} "{script}"'
    )


@pytest.mark.parametrize("path", FORGED)
def test_an_index_from_inside_makes_git_write_no_such_file(repository, path):
    box = repository.open()
    command = forge_index(path, "index.write_bytes(forged)", "--local")
    done = repository.start(box.wrap(["/bin/bash", "--norc", "-c", command], ()))
    assert done.returncode == 0, done.stderr
    lines = box.changes()
    assert any(line.startswith(".git/index names a ") for line in lines)
    repository.close()
    repository.git("checkout", ".")
    assert not (repository.workspace / path).exists()
    assert repository.git("ls-files").split() == ["evil", "file"]


def test_a_protected_file_of_the_person_may_be_added_inside(repository):
    (repository.workspace / ".vscode").mkdir()
    (repository.workspace / ".vscode/tasks.json").write_text("{}")
    repository.run("git add .vscode")
    repository.close()
    assert ".vscode/tasks.json" in repository.git("ls-files")


def test_a_protected_file_in_the_index_keeps_its_content(repository):
    (repository.workspace / ".vscode").mkdir()
    tasks = repository.workspace / ".vscode/tasks.json"
    tasks.write_text("{}")
    repository.git("add", ".vscode")
    repository.git("commit", "-qm", "tasks")
    box = repository.open()
    command = "git update-index --cacheinfo 100644,$(git hash-object -w evil),.vscode/tasks.json"
    done = repository.start(box.wrap(["/bin/sh", "-c", command], ()))
    assert done.returncode == 0, done.stderr
    assert "names a protected file that is not there, or not with this" in box.changes()[0]
    repository.close()
    repository.git("checkout", ".")
    assert tasks.read_text() == "{}"


@pytest.mark.rows(3)
@pytest.mark.parametrize("name", ATTACKS)
def test_git_outside_starts_nothing_of_an_attacker(repository, name):
    def run(command, **variables):
        repository.run(command, **variables)
        (repository.out / "mark").unlink(missing_ok=True)
        repository.close()

    assert not attack(repository, name, run)
    assert "first" in repository.git("log", "--format=%s")


@pytest.mark.rows(3)
@pytest.mark.parametrize("name", ATTACKS)
def test_each_attack_works_without_a_sandbox(repository, name):
    assert attack(repository, name, outside(repository))


def test_settings_that_are_replaced_outside_meanwhile_stay_protected(repository):
    """As with `git config`, which puts a new file in the place of the old one."""
    command = "echo ready; until [ -e go ]; do sleep 0.02; done; git config core.fsmonitor evil"
    argv = repository.open().wrap(["/bin/bash", "--norc", "-c", command], ())
    with subprocess.Popen(argv, cwd=repository.workspace, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        repository.git("config", "user.name", "z")
        (repository.workspace / "go").touch()
        process.wait(30)
    assert repository.git("config", "user.name").strip() == "a"  # of this test's own options
    config = (repository.workspace / ".git/config").read_text()
    assert "name = z" in config
    assert "evil" not in config


@pytest.mark.rows(2)
@pytest.mark.parametrize(
    "path", ["logs/HEAD", "logs/refs/heads/other", "COMMIT_EDITMSG", "index", "packed-refs"]
)
def test_git_outside_writes_to_no_file_that_a_link_leads_to(repository, path):
    victim = repository.out / "victim"
    victim.write_text("before")
    repository.run(f"mkdir -p .git/logs/refs/heads; ln -sf $OUT/victim .git/{path}")
    repository.close()
    for words in (("commit", "--allow-empty", "-m", "$(evil)"), ("checkout", "-q", "-b", "other")):
        repository.git(*words)
    repository.git("pack-refs", "--all")
    assert victim.read_text() == "before"
    assert "$(evil)" in repository.git("log", "--format=%s")


@pytest.mark.parametrize("name", ["HEAD", "packed-refs"])
def test_no_reference_leads_out_of_the_repository(repository, name):
    reference, before = "refs/../../../out/file", repository.git("log", "--format=%s")
    line = f"ref: {reference}" if name == "HEAD" else f"$(git rev-parse HEAD) {reference}"
    lock = f".git/{name}.lock"
    repository.run(f'printf "%s\\n" "{line}" > {lock} && mv -f {lock} .git/{name}')
    repository.close()
    assert repository.git("log", "--format=%s") == before


def test_objects_are_not_read_from_elsewhere(repository):
    repository.run("echo /elsewhere > .git/objects/info/alternates")
    assert not (repository.workspace / ".git/objects/info/alternates").exists()


WORK = """
set -e
echo new > new; git add new; git commit -qm third
git checkout -q -b side HEAD~1; echo side > side; git add side; git commit -qm side
git checkout -q main; git merge -q --no-edit side
echo more >> new; git stash -q; git stash pop -q
git tag v1; git branch -q -D side; git pack-refs --all
git add new; git mv file moved
"""


def assert_work_is_seen(repository):
    """Assert that a git outside has what WORK did."""
    assert repository.git("status", "--short", "-uno").splitlines() == [
        "R  file -> moved",
        "M  new",
    ]
    messages = repository.git("log", "--format=%s").splitlines()
    assert sorted(messages[1:]) == ["first", "second", "side", "third"]
    assert repository.git("tag").split() == ["v1"]
    assert repository.git("fsck", "--strict", "--no-dangling") == ""
    assert "commit: third" in repository.git("reflog")


def test_everyday_work_inside_is_seen_outside(repository):
    names = {"GIT_CONFIG_GLOBAL": "/tmp/config", "HOME": "/tmp"}
    repository.git("branch", "-m", "main")
    prepare = "git config --global user.name a; git config --global user.email a@example.org;"
    done = repository.run(prepare + WORK, **names)
    assert done.returncode == 0, done.stderr
    repository.close()
    assert_work_is_seen(repository)


def test_the_work_of_both_sides_is_seen_by_the_other(repository):
    box = repository.open()

    def run(command):
        done = repository.start(box.wrap(["/bin/sh", "-c", command], ()))
        box.changes()
        return done.stdout

    run("echo a > a; git add a")
    assert repository.git("status", "--short", "a") == "A  a\n"
    repository.git("commit", "-qm", "of the person")
    repository.git("checkout", "-q", "-b", "other")
    assert run("git status --short -uno; git branch --show-current") == "other\n"
    assert run("git log -1 --format=%s") == "of the person\n"


def test_a_change_of_the_index_on_both_sides_keeps_the_one_outside(repository):
    box = repository.open()
    box.wrap(["/bin/true"], ())
    (repository.workspace / "a").touch()
    (repository.workspace / "b").touch()
    argv = box.wrap(["/bin/sh", "-c", "git add a; touch ready; sleep 0.3"], ())
    with subprocess.Popen(argv, cwd=repository.workspace):
        while not (repository.workspace / "ready").exists():
            time.sleep(0.01)
        repository.git("add", "b")
    assert box.changes() == [REFUSED.format(CONTESTED.format(".git/index"))]
    assert repository.git("status", "--short", "a", "b").splitlines() == ["A  b", "?? a"]


def test_a_git_outside_that_locks_the_index_is_waited_for(repository):
    box = repository.open()
    (repository.workspace / "a").touch()
    lock = repository.workspace / ".git/index.lock"
    argv = box.wrap(["/bin/sh", "-c", "git add a"], ())
    repository.start(argv)
    lock.touch()
    remover = subprocess.Popen(["/bin/sh", "-c", f"sleep 0.3; rm {lock}"])
    assert box.changes() == []
    remover.wait()
    assert repository.git("status", "--short", "a") == "A  a\n"


def test_submodules_that_are_there_already_stay(repository):
    allowed = ("-c", "protocol.file.allow=always")
    repository.git(*allowed, "submodule", "add", "-q", str(repository.workspace), "mod")
    repository.git("commit", "-qam", "with a submodule")
    repository.run("touch b; git add b")
    repository.close()
    assert "mod" in repository.git("ls-files", "-s")
    assert "b" in repository.git("ls-files")
