"""The engine's library: brought where the system lacks it; doctor starts the engine to know."""

import hashlib
import os
import platform
import zipfile

import pytest
from nanocoder import Cancel, ProviderError
from nanocoder_provider_local import fetching
from nanocoder_provider_local.checked_settings import CheckedSettings
from nanocoder_provider_local.engine import Engine
from nanocoder_provider_local.settings import Settings

CONTENT = b"a library"
NEEDS_LIBRARY = """
import os
folders = os.environ["LD_LIBRARY_PATH"].split(":")
if not any(os.path.exists(f"{folder}/libgomp.so.1") for folder in folders):
    raise ImportError("libgomp.so.1: cannot open shared object file: No such file or directory")
"""
FAKE = """
from types import SimpleNamespace

class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )

class Server:
    def __init__(self, parameters):
        pass

    def handle_chat_completions(self, body, take):
        take({"answer": 1})
"""


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder with a wheel of the library; pip and uv look for packages nowhere else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    info = "cmeel_libomp-21.1.8.dist-info"
    files = {
        "cmeel.prefix/lib/libgomp.so.1": CONTENT,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: cmeel-libomp\nVersion: 21.1.8\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]).encode()
    with zipfile.ZipFile(folder / "cmeel_libomp-21.1.8-py3-none-any.whl", "w") as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
    for tool in ("PIP", "UV"):
        monkeypatch.setenv(f"{tool}_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    digests = {platform.machine(): hashlib.sha256(CONTENT).hexdigest()}
    monkeypatch.setattr(fetching, "LIBRARY_SHA256", digests)
    return folder


@pytest.fixture
def engine(tmp_path, monkeypatch):
    def make(code):
        folder = tmp_path / "engine"
        folder.mkdir()
        (folder / "xllamacpp.py").write_text(code + FAKE)
        monkeypatch.syspath_prepend(str(folder))
        made.append(Engine(lambda _progress: tmp_path / "model.gguf", Settings()))
        return made[-1]

    made = []
    yield make
    for each in made:
        each.close()


def ask(engine):
    return list(engine.ask({"messages": ""}, None, Cancel()))


def test_a_library_that_the_system_lacks_is_brought_once(engine, wheels, capfd):
    assert ask(engine(NEEDS_LIBRARY)) == [{"answer": 1}]
    folder = fetching.library_folder()
    assert (folder / "libgomp.so.1").read_bytes() == CONTENT
    assert os.listdir(folder) == ["libgomp.so.1"]
    assert f"downloading libgomp.so.1, once: 2 MB into {folder}" in capfd.readouterr().err


def test_a_library_with_another_digest_is_not_used_and_the_package_is_named(
    engine, wheels, monkeypatch
):
    monkeypatch.setattr(fetching, "LIBRARY_SHA256", {platform.machine(): "0" * 64})
    with pytest.raises(ProviderError, match=r"another SHA-256 .*apt install libgomp1"):
        ask(engine(NEEDS_LIBRARY))
    assert os.listdir(fetching.library_folder()) == []


def test_where_the_library_cannot_be_had_the_package_of_the_system_is_named(
    engine, wheels, monkeypatch
):
    monkeypatch.setattr(fetching, "LIBRARY_SHA256", {})
    with pytest.raises(ProviderError, match=r"needs libgomp.so.1, .*apt install libgomp1"):
        ask(engine(NEEDS_LIBRARY))


def test_an_engine_that_cannot_be_loaded_gives_its_own_reason(engine, wheels):
    code = "raise ImportError('libother.so.7: cannot open shared object file')\n"
    with pytest.raises(ProviderError, match=r"xllamacpp\) cannot be loaded: libother.so.7: cannot"):
        ask(engine(code))


@pytest.mark.parametrize(
    ("code", "status", "detail"),
    [
        ("", "note", "its engine runs; the first request with --model local downloads its weights"),
        (NEEDS_LIBRARY, "note", "downloads it (2 MB)"),
        ("raise ImportError('of another Python')\n", "wrong", "of another Python"),
        ("import os; os.abort()\n", "wrong", "ended by signal 6"),
    ],
)
def test_doctor_says_what_the_engine_does(engine, wheels, monkeypatch, code, status, detail):
    engine(code)
    monkeypatch.setattr("nanocoder_provider_local.checking.is_usable", lambda _settings: False)
    [(name, told, words)] = CheckedSettings().checks(None)
    assert (name, told) == ("embedded model", status)
    assert detail in words


def test_doctor_finds_weights_that_are_there(engine, wheels, tmp_path):
    engine("")
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    [check] = CheckedSettings(weights=str(tmp_path / "model.gguf")).checks(None)
    assert check == ("embedded model", "ok", "its engine runs, and its weights are there")
