import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from nanocoder import ProviderError
from nanocoder_provider_local.assembly import assemble, is_verified, model_path
from nanocoder_provider_local.parts import Weights, find_pieces, site_folders

PIECES = (b"first piece, " * 1000, b"second, " * 700, b"third")


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
    return Weights(
        "toy.gguf", "toy_part", len(PIECES), len(content), hashlib.sha256(content).hexdigest()
    )


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache" / "models"


def no_progress(processed, total):
    pass


def test_the_pieces_are_joined_in_order_without_importing_them(site, weights, cache):
    reports = []

    path = assemble(
        lambda processed, total: reports.append((processed, total)),
        weights=weights,
        cache=cache,
        folders=[site],
    )

    assert path.read_bytes() == b"".join(PIECES)
    assert reports[-1] == (weights.size, weights.size)
    assert sorted(entry.name for entry in cache.iterdir()) == [
        "toy.gguf",
        "toy.gguf.lock",
        "toy.gguf.sha256",
    ]


def test_a_second_start_neither_copies_nor_reads_the_file(site, weights, cache):
    path = assemble(no_progress, weights=weights, cache=cache, folders=[site])
    before = path.stat().st_mtime_ns
    shutil.rmtree(site)

    def fail(processed, total):
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


def test_a_piece_of_another_size_is_refused_before_anything_is_copied(site, weights, cache):
    (site / "toy_part3" / "data" / "part03.bin").write_bytes(b"longer than third")

    with pytest.raises(ProviderError, match="reinstall"):
        assemble(lambda *_: pytest.fail("copied"), weights=weights, cache=cache, folders=[site])


def test_missing_packages_are_named(site, weights, cache):
    shutil.rmtree(site / "toy_part2")

    with pytest.raises(
        ProviderError, match=r"1 of 3 packages are missing \(first: toy-part2\)"
    ) as caught:
        assemble(no_progress, weights=weights, cache=cache, folders=[site])

    assert caught.value.kind == "not_found"
    assert "nanocoder plugins install 'provider-local[weights]' installs them" in str(caught.value)


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


def test_an_interrupt_leaves_no_half_file(site, weights, cache):
    def interrupt(processed, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assemble(interrupt, weights=weights, cache=cache, folders=[site])

    assert [entry.name for entry in cache.iterdir()] == ["toy.gguf.lock"]
    assert assemble(no_progress, weights=weights, cache=cache, folders=[site]).exists()


def test_what_a_killed_process_left_is_cleared_away(site, weights, cache):
    cache.mkdir(parents=True)
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    owner = gone.stdout.strip()
    for name in (f".toy.gguf.{owner}.part", f".older.gguf.{owner}.part", f".a.sha256.{owner}"):
        (cache / name).write_bytes(b"half")
    (cache / f".mine.gguf.{os.getpid()}.part").write_bytes(b"somebody still writes")

    assemble(no_progress, weights=weights, cache=cache, folders=[site])

    remaining = {path.name for path in cache.glob(".*.*.*")}
    assert remaining == {f".mine.gguf.{os.getpid()}.part"}


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
from nanocoder_provider_local.assembly import assemble
from nanocoder_provider_local.parts import Weights

site, cache, size, digest = sys.argv[1:]
weights = Weights("toy.gguf", "toy_part", 3, int(size), digest)
copied = [0]
print("ready", flush=True)
sys.stdin.readline()
cache, folders = Path(cache), [Path(site)]
assemble(lambda done, _: copied.append(done), weights=weights, cache=cache, folders=folders)
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
