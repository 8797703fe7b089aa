"""A plugin of one file is installed, replaced and removed by its file."""

import pytest

HOOK = "import subprocess\nfrom nanocoder import hookimpl\n\n@hookimpl\ndef nanocoder_tools():\n"
FILE = f"{HOOK}    subprocess.run(['true'])\n    return []\n"


@pytest.fixture
def file(nanocoder):
    """Return a plugin of one file in the current directory."""
    path = nanocoder.cwd / "word_count.py"
    path.write_text(FILE)
    return path


def installed(nanocoder):
    return nanocoder.home / ".config/nanocoder/plugins/word_count.py"


def test_a_file_is_shown_and_copied_once_a_person_agrees(nanocoder, file):
    done = nanocoder("plugins", "install", "word_count.py")
    assert done.returncode == 3
    assert "  may start programs" in done.stdout.splitlines()
    assert not installed(nanocoder).exists()
    done = nanocoder("plugins", "install", "--yes", "./word_count.py")
    assert (done.returncode, installed(nanocoder).read_text()) == (0, FILE)
    assert "word-count" in nanocoder("plugins", "list").stdout
    file.write_text(f"{FILE}\n# more\n")
    assert nanocoder("plugins", "install", "--yes", str(file)).returncode == 0
    assert installed(nanocoder).read_text() == file.read_text()


def test_a_file_that_cannot_be_imported_leaves_what_was_there(nanocoder, file):
    nanocoder("plugins", "install", "--yes", "word_count.py")
    header = '# /// script\n# dependencies = [\n#   "acme>2",\n# ]\n# ///\n'
    file.write_text(f"{header}import acme\n{FILE}")
    done = nanocoder("plugins", "install", "--yes", "word_count.py")
    assert done.returncode == 2
    assert "word-count cannot be imported: ModuleNotFoundError: No module named" in done.stderr
    assert "its header names acme>2: install these first" in done.stderr
    assert installed(nanocoder).read_text() == FILE


def test_a_removed_file_is_gone_and_not_missed(nanocoder, file):
    nanocoder("plugins", "install", "--yes", "word_count.py")
    nanocoder("tools")
    done = nanocoder("plugins", "remove", "word-count")
    assert (done.returncode, done.stdout) == (0, f"removed {installed(nanocoder)}\n")
    assert not installed(nanocoder).exists()
    assert "gone" not in nanocoder("tools").stderr
    assert file.exists()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none.py", "No such file or directory"),
        ("a b.py", "name it after its plugin, as in word_count.py"),
        ("command_setup.py", "'command-setup' is installed: nanocoder-command-plugins 0.1.0"),
    ],
)
def test_a_file_that_cannot_be_installed_is_refused_with_the_reason(nanocoder, name, problem):
    if name != "none.py":
        (nanocoder.cwd / name).write_text(FILE)
    done = nanocoder("plugins", "install", "--yes", name)
    assert done.returncode == 2
    assert problem in done.stderr
    assert not installed(nanocoder).parent.exists()
