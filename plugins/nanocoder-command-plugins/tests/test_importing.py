"""What a package does while it is imported is named; the imports are real, in a process."""

import sys
import time
import venv
from pathlib import Path

import pytest
from nanocoder_command_author.check import done_at_import
from nanocoder_command_author.importing import deeds_at_import
from nanocoder_kit_process.capabilities import Package

ENDED = "acme-run: its import ended the process, or the report of what it does"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a package in an environment of its own."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False)
    [site] = folder.glob("lib/python*/site-packages")
    # What this Python finds is found there, too, sources of this repository included.
    (site / "others.pth").write_text("\n".join(path for path in sys.path if path) + "\n")
    monkeypatch.setattr(sys, "executable", str(folder / "bin/python"))

    def new_package(source: str, capabilities: list[str] | None = None, **below: str) -> Package:
        module = site / "acme_run"
        module.mkdir()
        (module / "__init__.py").write_text(source)
        for name, text in below.items():
            (module / f"{name}.py").write_text(text)
        if capabilities is not None:
            text = f"api = 1\ncapabilities = {capabilities}\n"
            (module / "nanocoder-plugin.toml").write_text(text)
        info = site / "acme_run-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: acme-run\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[nanocoder]\nacme-run = acme_run\n")
        return Package("acme-run", "1.0", ("acme-run",), (module,), ())

    return new_package


@pytest.mark.parametrize(
    ("source", "deed"),
    [
        ("import os\nos.system('true')\n", ":2 starts true at import (exec)"),
        ("import subprocess\nsubprocess.run(['true', 'x'])\n", "starts true x at import (exec)"),
        ("import os\nif not os.fork(): os._exit(0)\n", ":2 starts at import (exec)"),
        ("open('x', 'w').close()\n", ":1 changes x at import (fs.write)"),
        ("from pathlib import Path\nPath('x').mkdir()\n", ":2 changes x at import (fs.write)"),
        ("open('/etc/passwd').close()\n", ":1 reads /etc/passwd at import (fs.read)"),
        ("import os\nos.listdir('/etc')\n", ":2 lists /etc at import (fs.read)"),
        (
            "import socket\ntry: socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError: 0",
            ":2 looks up 127.0.0.1 at import (net:127.0.0.1)",
        ),
        (
            "import socket\nsocket.socket(type=2).sendto(b'x', ('127.0.0.1', 9))\n",
            ":2 reaches 127.0.0.1 at import (net:127.0.0.1)",
        ),
        (
            "import socket\ntry: socket.socket(1).connect('/run/x')\nexcept OSError: 0\n",
            ":2 reaches the socket /run/x at import (exec)",
        ),
        (
            "import ctypes\nctypes.CDLL('libc.so.6')\n",
            "loads the library libc.so.6 at import (exec)",
        ),
        (
            "import threading\nthreading.Thread(target=lambda: open('x', 'w')).start()\n",
            ":2 changes x at import (fs.write)",
        ),
        (
            "import sys\nsys.stdout.close()\nopen('x\\n\\x1b[2J', 'w')\n",
            r":3 changes x \x1b[2J at import (fs.write)",
        ),
    ],
)
def test_what_an_import_does_is_named_with_its_place(install, source, deed):
    [line, *_] = [str(each) for each in deeds_at_import(install(source))]
    assert line.startswith("acme_run/__init__.py:")
    assert line.endswith(deed)


def test_what_an_ordinary_package_imports_is_no_deed(install):
    source = "import json, ssl, ctypes, attrs, httpx\nfrom pathlib import Path\nprint('[1]')\n"
    text = f"{source}Path(__file__).read_text()\n"
    assert deeds_at_import(install(text, also="from acme_run import Path\n")) == []


def test_a_module_below_is_imported_and_watched_too(install):
    package = install("", lazily="import os\nos.rmdir('nowhere')\n", broken="import nowhere\n")
    [deed] = deeds_at_import(package)
    assert str(deed) == "acme_run/lazily.py:2 changes nowhere at import (fs.write)"


def test_a_library_is_watched_for_its_plugin(install):
    package = install("import acme_library\n")
    library = package.folders[0].parent / "acme_library.py"
    library.write_text("import os\nopen('/etc/passwd').close()\nos.system('true')\n")
    [deed] = deeds_at_import(package)
    assert str(deed) == "acme_run/__init__.py:1 starts true at import (exec)"


def test_what_is_declared_is_shown_and_no_problem(install):
    package = install("import os\nos.system('true')\nopen('x', 'w')\n", ["exec"])
    at_import = done_at_import(package)
    assert at_import.declared == [
        "acme-run: acme_run/__init__.py:2 starts true at import (exec)",
    ]
    [line] = at_import.undeclared
    assert line == (
        "acme-run: acme_run/__init__.py:3 changes x at import (fs.write),"
        " and nanocoder-plugin.toml does not declare it"
    )


def test_a_package_that_declares_nothing_promises_nothing(install):
    at_import = done_at_import(install("import os\nos.system('true')\n"))
    assert (len(at_import.declared), at_import.undeclared) == (1, [])


def test_an_import_without_end_is_cut_off_with_all_it_has_started(install, tmp_path):
    mark = tmp_path / "pid"
    source = f"import os, time\nos.system('sleep 600 & echo $! > {mark}')\ntime.sleep(600)\n"
    first, last = deeds_at_import(install(source), 5.0)
    assert first.capability == "exec"
    assert str(last) == "its import took more than 5 s"
    assert _has_ended(int(mark.read_text()))


def test_an_import_that_ends_the_process_is_named(install):
    package = install("import os\nos._exit(0)\n", [])
    assert done_at_import(package).undeclared == [ENDED]


LATER = "in a thread or at the end of the process starts true at import (exec)"


@pytest.mark.parametrize(
    "source",
    [
        "import atexit, os\natexit.register(os.system, 'true')\n",
        "import threading, os\nthreading.Thread(target=os.system, args=['true']).start()\n",
        "import weakref, os\nweakref.finalize(os, os.system, 'true')\n",
    ],
    ids=["atexit", "thread", "finalizer"],
)
def test_a_deed_without_any_code_of_the_plugin_is_named(install, source):
    assert LATER in [str(each) for each in deeds_at_import(install(source))]


@pytest.mark.parametrize(
    "make",
    [
        "exec(compile(text, json.__file__, 'exec'))\n",
        "exec(text)\nf.__code__ = f.__code__.replace(co_filename=json.__file__)\n",
    ],
    ids=["compiled", "replaced"],
)
def test_code_that_says_it_is_of_another_file_is_named_where_it_was_made(install, make):
    """The deed happens when the next module is imported, with no code of the plugin behind it."""
    text = "def f(*_): open('x', 'w')"
    source = f"import sys, json\ntext = {text!r}\n{make}"
    source += "sys.meta_path.insert(0, type('T', (), {'find_spec': staticmethod(f)}))\n"
    deeds = [str(each) for each in deeds_at_import(install(source, also=""))]
    [deed] = [each for each in deeds if "changes x" in each]
    assert deed.startswith("acme_run/__init__.py:")


def test_a_c_function_that_is_called_without_loading_a_library_is_named(install):
    source = "import ctypes\nctypes.pythonapi.system(b'true')\n"
    [deed] = deeds_at_import(install(source))
    assert str(deed) == "acme_run/__init__.py:2 calls system of a library at import (exec)"


FORGE = """
import os
for number in range(3, 20):
    try:
        os.write(number, b'"end"\\n')
    except OSError:
        pass
os._exit(0)
"""


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (FORGE, "its import wrote to the report of what it does"),
        (
            f"import atexit\natexit.register(exec, {FORGE!r}, {{}})\n",
            "its import wrote to the report",
        ),
        ("import atexit\natexit._clear()\n", "its import ended the process, or the report"),
        ("import os\nos.closerange(3, 20)\n", "its import ended the process, or the report"),
    ],
    ids=["forged", "forged at the end", "cleared", "closed"],
)
def test_a_report_that_the_plugin_writes_or_ends_is_no_report(install, source, problem):
    *_, last = deeds_at_import(install(source))
    assert str(last).startswith(problem)


def test_the_process_has_no_keys_and_works_in_an_empty_folder(install, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY")
    source = "import os\nos.mkdir(f\"{os.listdir('.')} {os.environ.get('OPENAI_API_KEY')}\")\n"
    deeds = [str(each) for each in deeds_at_import(install(source))]
    assert "acme_run/__init__.py:2 changes [] None at import (fs.write)" in deeds
    assert not Path("[] None").exists()


def _has_ended(pid: int) -> bool:
    """Wait for the end of a process; one that nobody has reaped yet has ended, too."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        except FileNotFoundError:
            return True
        if state.split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False
