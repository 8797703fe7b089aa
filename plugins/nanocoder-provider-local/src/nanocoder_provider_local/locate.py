"""Find the file that llama.cpp loads for the name after `local/`."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from nanocoder import ProviderError

from nanocoder_provider_local.assembly import Progress, assemble, is_verified, model_path, require
from nanocoder_provider_local.parts import DEFAULT_WEIGHTS, find_pieces
from nanocoder_provider_local.settings import DEFAULT_MODEL, Settings

GGUF_MAGIC: Final = b"GGUF"

WAYS: Final = (
    f"use --model local/{DEFAULT_MODEL}, which downloads its weights once (1.1 GB), "
    "--model local//path/to/model.gguf, or set weights in [plugins.provider-local]"
)


def locate(name: str, settings: Settings) -> Callable[[Progress], Path]:
    """Return a function that returns the model file of *name*: the default's, or an absolute path.

    That function downloads or joins the default weights the first time.

    Raises: ProviderError (not_found for a name, file or packages that are not there, bad_request
    for a file of another format).
    """
    if name.startswith("/"):
        return _existing_file(Path(name))
    if name not in {"", DEFAULT_MODEL}:
        raise ProviderError(f"there is no embedded model {name!r}; {WAYS}", kind="not_found")
    if settings.weights:
        return _existing_file(Path(settings.weights).expanduser())
    if not is_verified(model_path(), DEFAULT_WEIGHTS):
        require(find_pieces(DEFAULT_WEIGHTS), DEFAULT_WEIGHTS)
    return assemble


def is_usable(settings: Settings) -> bool:
    """Tell, without loading anything, whether the default model could be used now."""
    if find_spec("xllamacpp") is None:
        return False
    if settings.weights:
        return Path(settings.weights).expanduser().is_file()
    return is_verified(model_path(), DEFAULT_WEIGHTS) or not find_pieces(DEFAULT_WEIGHTS).missing


def _existing_file(path: Path) -> Callable[[Progress], Path]:
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ProviderError(
            f"cannot read the model {str(path)!r}: {error.strerror}; {WAYS}", kind="not_found"
        ) from error
    if magic != GGUF_MAGIC:
        raise ProviderError(f"{str(path)!r} is not a GGUF file; {WAYS}", kind="bad_request")
    return lambda _progress: path
