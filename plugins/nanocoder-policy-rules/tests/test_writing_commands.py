"""What a command changes needs a person where it decides what runs; what only names it does not."""

import pytest

CHANGING = [
    "cp -r evil/hooks .git",
    "cp -r evil/hooks ./.git/",
    "cp -r evil/hooks .git/.",
    "cp -r evil/hooks .gi?",
    "cp -r evil/hooks .git -S x",
    "cp -r evil sub/.git",
    "cp -r evil/hooks .git/modules/lib",
    "cd sub && cp ../pre-commit .git",
    "cd .git && cp -r ../evil/hooks .",
    "cd .git && tar xf ../hooks.tar",
    "mv evil/hooks .git",
    "mv .git x",
    "install pre-commit .git",
    "ln -s ../evil .git",
    "mkdir sub/.git",
    "tar xf hooks.tar -C .git",
    "tar -xf hooks.tar -C.git",
    "tar xf hooks.tar --directory=.git",
    "tar -x -fhooks.tar --one-top-level=.git",
    "tar xf hooks.tar .git",
    "env tar=1 tar xf hooks.tar -C .git",
    "tar cf x --remove-files .git",
    "sh -c 'cp -r evil/hooks .git'",
    "d=.git; mv evil/hooks $d",
    "echo gitdir > sub/.git",
    "cp -t.git/hooks pre-commit",
    "cp -rt.git/hooks pre-commit",
    "cp -at.git evil/hooks",
    "cp pre-commit node_modules/.bin/tsc",
    "cp -tnode_modules/.bin pre-commit",
    "cp -t node_modules/.bin pre-commit",
    "cp pre-commit .venv/bin",
    "cd node_modules && cp ../pre-commit .bin/tsc",
    "cat pre-commit > node_modules/.bin/tsc",
    "cat pre-commit >>'e/bin/python'",
    "cp pre-commit e/bin/python",
    "cp evil gradlew",
    "mv evil node_modules",
    "sed -i s/a/b/ node_modules/.bin/tsc",
    "dd if=evil of=.venv/bin/python",
    "env install pre-commit .venv/bin/python",
]
NAMING = [
    "ls .git",
    "git -C . status",
    "cat .git/HEAD",
    "du -sh .git",
    "tar cf backup.tar .git",
    "tar czf backup.tgz --exclude=.git .",
    "tar --exclude .git -xf backup.tar",
    "grep -r x .git",
    "rg --glob '!.git' x",
    "find . -not -path './.git/*'",
    "find . -name .git -prune -o -type f -exec rm {} +",
    "echo .git >> .gitignore",
    "rsync --exclude .git a b",
    "rsync -a a/ b/ --exclude=.git",
    "cp -r .git /tmp/backup",
    "test -d .git && echo yes",
    "rm -f .git/index.lock",
    "rm -rf node_modules .venv",
    "mv node_modules old",
    "node_modules/.bin/tsc",
    "node_modules/.bin/tsc > out.txt",
    ".venv/bin/python x.py",
    "python -m venv .venv && .venv/bin/pip install -e .",
    "uv pip install -r requirements.txt --python .venv/bin/python",
    "./gradlew build",
    "chmod +x gradlew",
    "sed -i 's/.git//' x.txt",
    "git clone https://example.org/x.git sub",
    "tar xf x.tar -C sub",
    "cp node_modules/x/a.js src/",
    "mkdir -p node_modules src",
]


@pytest.fixture(autouse=True)
def _tree(tmp_path):
    for folder in (".git/hooks", "sub", "e/bin", "node_modules/.bin", "evil/hooks"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "e/pyvenv.cfg").write_text("home = /usr/bin\n")


@pytest.mark.parametrize("command", CHANGING)
def test_a_command_that_changes_git_or_programs_needs_a_person(command, judge):
    verdict = judge("bash", {"command": command}, allow=["bash"])
    assert (str(verdict.decision), verdict.rule) == ("ask", "protected names")
    assert str(judge("bash", {"command": command}, "auto").decision) == "deny"


@pytest.mark.parametrize("command", NAMING)
def test_a_command_that_only_names_git_or_runs_programs_needs_none(command, judge):
    verdict = judge("bash", {"command": command}, "auto")
    assert str(verdict.decision) == "allow", verdict.reason
