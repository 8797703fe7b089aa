"""Installing a plugin: what it does is shown and agreed to before any of it runs."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from place import Place

SOURCE = '''import os
from pathlib import Path
from nanocoder import hookimpl, tool

Path({mark!r}).write_text("the plugin was run")


@tool(risk="safe", effects={{"read"}})
def forecast(city: str) -> str:
    """Say what the weather will be."""
    return "rain"


@hookimpl
def nanocoder_tools():
    return [forecast]
'''


class Index:
    """An installation with pip, and a folder of wheels that pip takes packages from."""

    def __init__(self, folder: Path) -> None:
        self.place = Place(folder)
        self.place.bring("nanocoder-kit-process")
        self.place.bring("nanocoder-command-plugins")
        self.wheels = folder / "wheels"
        self.wheels.mkdir()
        python = str(self.place.venv / "bin/python")
        subprocess.run([python, "-m", "ensurepip"], check=True, capture_output=True)

    def offer(self, version: str, manifest: str | None, source: str = "", needs: str = "") -> None:
        """Put a wheel of acme-weather into the folder."""
        text = source or SOURCE.format(mark=str(self.place.mark))
        info = f"acme_weather-{version}.dist-info"
        files = {
            "acme_weather/__init__.py": text,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: acme-weather\nVersion: {version}\n"
            + (f"Requires-Dist: {needs}\n" if needs else ""),
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/entry_points.txt": "[nanocoder]\nacme-weather = acme_weather\n",
        }
        if manifest is not None:
            files["acme_weather/nanocoder-plugin.toml"] = manifest
        files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in files)
        path = self.wheels / f"acme_weather-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for name, content in files.items():
                wheel.writestr(name, content)

    def offer_files(self, name: str, needs: str = "", **contents: str) -> str:
        """Put a wheel of a package without a plugin into the folder; return how to name it."""
        module = name.replace("-", "_")
        info = f"{module}-1.0.dist-info"
        requires = f"Requires-Dist: {needs}\n" if needs else ""
        files = {
            f"{module}.py": "x = 1\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        files |= {f"{file}.pth": content for file, content in contents.items()}
        files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in files)
        path = self.wheels / f"{module}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for file, content in files.items():
                wheel.writestr(file, content)
        return f"./../wheels/{path.name}"

    def install(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `plugins install`; nobody can be asked."""
        env = {
            "HOME": str(self.place.home),
            "PATH": os.defpath,
            "ACME_KEY": "x",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        command = [str(self.place.venv / "bin/python"), "-P", "-m", "nanocoder"]
        return subprocess.run(
            [*command, "plugins", "install", *words],
            cwd=self.place.work,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    @property
    def version(self) -> str:
        """The version of acme-weather that is installed, "" for none."""
        found = list(self.place.site.glob("acme_weather-*.dist-info"))
        return (
            found[0].name.removeprefix("acme_weather-").removesuffix(".dist-info") if found else ""
        )


# One worker for all: each would spend seconds on an installation with pip.
pytestmark = pytest.mark.xdist_group("index")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index(tmp_path_factory.mktemp("index"))


def manifest(*names: str) -> str:
    return f"api = 1\ncapabilities = {list(names)!r}\n".replace("'", '"')


@pytest.mark.contract("I14", "I4")
@pytest.mark.timeout(300)
def test_nothing_is_installed_or_run_before_a_person_agrees(index):
    index.offer("1.0", manifest("fs.read", "net:api.example.org"))
    name = "./../wheels/acme_weather-1.0-py3-none-any.whl"
    done = index.install(name)
    assert done.returncode == 3, done
    assert "nothing was installed: there is no terminal to ask on" in done.stderr
    for line in (
        "acme-weather 1.0",
        "may read files of the workspace",
        "may reach api.example.org",
        "tool forecast: safe, read, about",
        "hooks: tools",
    ):
        assert line in done.stdout
    assert index.version == ""
    assert not index.place.mark.exists()

    done = index.install(name, "--yes")
    assert done.returncode == 0
    assert "the next command reads acme-weather for the first time, and names it" in done.stderr
    assert index.version == "1.0"
    assert index.place.mark.exists(), "once it is agreed to, a child process imports it"

    index.offer("1.1", manifest("fs.read"))
    done = index.install("./../wheels/acme_weather-1.1-py3-none-any.whl")
    assert done.returncode == 0, done
    assert "acme-weather 1.1 (now 1.0): wants no more than before" in done.stdout
    assert index.version == "1.1"

    index.offer("1.2", manifest("fs.read", "exec"))
    done = index.install("./../wheels/acme_weather-1.2-py3-none-any.whl")
    assert done.returncode == 3
    assert "also may start programs" in done.stdout
    assert index.version == "1.1"

    index.offer("1.3", None, "import subprocess\nfrom nanocoder import hookimpl\n")
    done = index.install("./../wheels/acme_weather-1.3-py3-none-any.whl")
    assert done.returncode == 3
    assert "it declares nothing (nanocoder-plugin.toml)" in done.stdout
    assert "acme_weather/__init__.py:1 uses the module subprocess (exec)" in done.stdout

    index.offer("1.4", 'api = 1\ncapabilities = ["root"]\n')
    done = index.install("./../wheels/acme_weather-1.4-py3-none-any.whl", "--yes")
    assert done.returncode == 2
    assert "'root' is no capability" in done.stderr
    assert index.version == "1.1"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("version", "source", "problem"),
    [
        (
            "1.90",
            "import nowhere_to_be_found\n",
            "ModuleNotFoundError: No module named 'nowhere_to_be_f",
        ),
        ("1.91", "import os\nos.abort()\n", "the import ended the process (SIGABRT)"),
        ("1.92", "raise SystemExit(3)\n", "SystemExit: 3 (acme_weather/__init__.py:1)"),
        ("1.93", "import os\nassert 'ACME_KEY' not in os.environ\n", ""),
    ],
)
def test_a_plugin_that_cannot_be_imported_does_not_replace_the_one_that_works(
    index, version, source, problem
):
    before = index.version
    index.offer(version, manifest("fs.read"), source)
    name = f"./../wheels/acme_weather-{version}-py3-none-any.whl"
    done = index.install(name, "--yes")
    lines = [line for line in done.stderr.splitlines() if "acme-weather" in line]
    if not problem:
        assert (done.returncode, "for the first time" in lines[-1]) == (0, True), done.stderr
        return
    assert done.returncode == 1, done
    assert "for the first time" not in done.stderr
    assert "acme-weather cannot be imported" in lines[-1]
    assert problem in lines[-1]
    assert "It was not installed" in lines[-1]
    assert index.version == before
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(300)
def test_a_folder_of_sources_is_read_and_not_built_before_a_person_agrees(index):
    folder = index.place.work / "acme-forecast"
    (folder / "src/acme_forecast").mkdir(parents=True)
    mark = index.place.mark.with_name("built")
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "acme-forecast"\nversion = "3"\n'
        '[project.entry-points.nanocoder]\nacme-forecast = "acme_forecast"\n'
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "backend.py").write_text(f"open({str(mark)!r}, 'w').write('built')\n")
    (folder / "src/acme_forecast/__init__.py").write_text(SOURCE.format(mark=str(mark)))
    done = index.install("./acme-forecast")
    assert done.returncode == 3, done
    assert "acme-forecast 3" in done.stdout
    assert "installing it runs its build program with your rights" in done.stdout
    assert not mark.exists()


@pytest.mark.timeout(300)
def test_a_folder_without_entry_points_is_not_built(index):
    folder, mark = index.place.work / "evil", index.place.mark.with_name("evil-built")
    folder.mkdir()
    (folder / "be.py").write_text(f"open({str(mark)!r}, 'w').write('built')\n")
    build = '[build-system]\nrequires = []\nbuild-backend = "be"\nbackend-path = ["."]\n'
    for dynamic in ("", 'dynamic = ["entry-points"]\n'):
        project = f'[project]\nname = "nanocoder-tool-evil"\nversion = "1"\n{dynamic}'
        (folder / "pyproject.toml").write_text(build + project)
        done = index.install("./evil")
        assert done.returncode == 3, done
        assert "its build program: be (.)" in done.stdout
        assert ("is no plugin of nanocoder: nothing was installed" in done.stderr) is (not dynamic)
    assert not mark.exists()


@pytest.mark.timeout(300)
def test_what_runs_at_a_start_is_agreed_to_whatever_brings_it(index):
    mark = index.place.mark.with_name("started")
    line = f"x\x0cimport os; open({str(mark)!r}, 'w')\n"
    evil = index.offer_files("nanocoder-tool-helper", zz_evil=line)
    done = index.install(evil)
    assert done.returncode == 3, done
    assert "zz_evil.pth runs code whenever Python starts" in done.stdout
    assert "nanocoder-tool-helper is no plugin of nanocoder" in done.stderr
    assert index.install(evil, "--yes").returncode == 2

    # The same in a library that an update of a plugin brings.
    index.offer("2.0", manifest("fs.read"))
    assert index.install("./../wheels/acme_weather-2.0-py3-none-any.whl", "--yes").returncode == 0
    index.offer("2.1", manifest("fs.read"), needs="nanocoder-tool-helper")
    done = index.install("./../wheels/acme_weather-2.1-py3-none-any.whl")
    assert done.returncode == 3, done
    assert "zz_evil.pth runs code whenever Python starts" in done.stdout
    assert index.version == "2.0"
    assert not list(index.place.site.glob("zz_evil.pth"))
    assert not mark.exists()


@pytest.mark.timeout(300)
def test_what_cannot_be_shown_is_refused(index):
    address = index.offer_files("nanocoder-tool-far", needs="x @ file:///tmp/x.tar.gz")
    for name in (address, "./evil.zip", "./evil.tar.gz", "git+https://example.org/x", "x@file:y"):
        done = index.install(name, "--yes")
        assert done.returncode == 2, done
        assert "cannot be shown before it runs code" in done.stderr
