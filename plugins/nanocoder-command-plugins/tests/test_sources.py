"""The sources that plugins may be installed from."""

import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from nanocoder_command_setup import installer
from package_index import WHEEL, Index, wheel

pytestmark = [pytest.mark.timeout(60), pytest.mark.contract("I29")]


@pytest.fixture
def indexes() -> Iterator[tuple[Index, Index]]:
    both = Index(), Index()
    yield both
    for index in both:
        index.server.shutdown()
        index.server.server_close()


def configure(nanocoder, *lines: str) -> None:
    file = nanocoder.home / ".config/nanocoder/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["[plugins.command-setup]", *lines, ""]))


def asking(index: Index) -> dict[str, str]:
    """Return the variables by which pip and uv ask *index*."""
    names = ("UV_DEFAULT_INDEX", "PIP_INDEX_URL", "UV_INDEX", "PIP_EXTRA_INDEX_URL")
    return {**dict.fromkeys(names, index.url), "UV_NO_CACHE": "1", "UV_HTTP_RETRIES": "0"}


def plugin_wheel(folder: Path, name: str, requires: str = "") -> Path:
    """Write the wheel of a plugin that requires the package *requires*."""
    module = name.replace("-", "_")
    file = folder / f"{module}-1.0-py3-none-any.whl"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    info = f"{module}-1.0.dist-info"
    files = {
        f"{module}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[nanocoder]\n{name} = {module}\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return file


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('allowed_packages = ["nanocoder-*", "Acme_other"]', "allows only nanocoder-*, Acme_other"),
        ('blocked_packages = ["ACME_*"]', "blocks it"),
        ('allowed_packages = ["*"]\nblocked_packages = ["acme-thing"]', "blocks it"),
    ],
)
def test_a_package_that_may_not_be_installed_is_refused_unasked(nanocoder, indexes, line, reason):
    configure(nanocoder, line)
    done = nanocoder("plugins", "install", "acme-thing[x]>=1", "--yes", env=asking(indexes[0]))
    assert done.returncode == 2
    assert "acme-thing may not be installed: " in done.stderr
    assert f"config.toml:{1 + len(line.splitlines())}) {reason}. Nothing was ins" in done.stderr
    assert indexes[0].asked == []


def test_a_package_that_is_allowed_goes_on(nanocoder, indexes) -> None:
    configure(nanocoder, 'allowed_packages = ["acme-*"]', 'blocked_packages = ["acme-old"]')
    done = nanocoder("plugins", "install", "acme-thing", "--yes", env=asking(indexes[0]))
    assert "acme-thing is no plugin of nanocoder" in done.stderr


def test_a_plugin_that_another_one_brings_must_be_allowed_itself(nanocoder, tmp_path) -> None:
    plugin_wheel(tmp_path, "evil-thing")
    path = plugin_wheel(tmp_path, "acme-thing", "evil-thing")
    links = {"UV_FIND_LINKS": str(tmp_path), "PIP_FIND_LINKS": str(tmp_path), "UV_OFFLINE": "1"}
    configure(nanocoder, 'allowed_packages = ["acme-*"]')
    done = nanocoder("plugins", "install", str(path), "--yes", env=links)
    assert done.returncode == 2
    assert "evil-thing may not be installed: allowed_packages (" in done.stderr


def test_the_chosen_index_is_the_only_source(nanocoder, indexes, tmp_path) -> None:
    ours, other = indexes
    configure(nanocoder, f'index = "{ours.url}"')
    (tmp_path / WHEEL).write_bytes(wheel())
    links = {"UV_FIND_LINKS": str(tmp_path), "PIP_FIND_LINKS": str(tmp_path)}
    done = nanocoder("plugins", "install", "acme-thing", "--yes", env=asking(other) | links)
    assert f"{ours.url} says of it" in done.stdout
    assert "acme-thing is no plugin of nanocoder" in done.stderr
    assert f"/{WHEEL}" in ours.asked
    assert other.asked == []
    path = str(tmp_path / WHEEL)
    done = nanocoder("plugins", "install", path, "--yes", env=links)
    assert (done.returncode, f"{path} may not be installed: index (" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "form",
    ["file:%2F{}", "file:{}#x", "acme-thing@file:%2F{}", "acme-thing @ %2F{}", "x;y"],
)
def test_what_is_no_name_is_refused_unseen(nanocoder, tmp_path, form) -> None:
    path = str(tmp_path / WHEEL).removeprefix("/").replace("/", "%2F").replace(".whl", ".wh%6c")
    done = nanocoder("plugins", "install", form.format(path), "--yes")
    assert done.returncode == 2
    assert "is neither a wheel nor a folder here" in done.stderr


def test_a_file_is_blocked_in_any_letter_case(nanocoder) -> None:
    configure(nanocoder, 'blocked_packages = ["acme-old"]')
    (nanocoder.cwd / "Acme_Old.py").write_text("")
    done = nanocoder("plugins", "install", "./Acme_Old.py", "--yes")
    assert (done.returncode, "blocks it" in done.stderr) == (2, True)


def test_pip_asks_the_chosen_index_only(indexes, tmp_path, monkeypatch) -> None:
    """The environment of the tests has uv alone."""
    ours, other = indexes
    venv.create(tmp_path / "venv", with_pip=True)
    pip = installer.Installer("pip", [str(tmp_path / "venv/bin/python"), "-m", "pip"])
    monkeypatch.setattr(installer, "find_installer", lambda: pip)
    for name, text in asking(other).items():
        monkeypatch.setenv(name, text)
    (tmp_path / WHEEL).write_bytes(wheel())
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    words = ("--target", str(tmp_path / "target"), "acme-thing")
    assert installer.run_installer("unpack", *words, index=ours.url).code == 0
    assert f"/{WHEEL}" in ours.asked
    assert other.asked == []


def test_a_project_neither_allows_a_package_nor_chooses_an_index(nanocoder, indexes) -> None:
    (nanocoder.cwd / ".nanocoder").mkdir()
    (nanocoder.cwd / ".nanocoder/config.toml").write_text(
        f'[plugins.command-setup]\nallowed_packages = ["*"]\nindex = "{indexes[1].url}"\n'
    )
    configure(nanocoder, 'allowed_packages = ["nanocoder-*"]')
    done = nanocoder("plugins", "install", "acme-thing", "--yes", env=asking(indexes[0]))
    assert "allows only nanocoder-*" in done.stderr
    assert [each.asked for each in indexes] == [[], []]
