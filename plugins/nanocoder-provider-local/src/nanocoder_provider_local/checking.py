"""The check of the embedded model for `nanocoder doctor`, which starts the engine."""

from contextlib import closing
from pathlib import Path

from nanocoder import ProviderError

from nanocoder_provider_local.assembly import models_folder
from nanocoder_provider_local.fetching import client
from nanocoder_provider_local.loaded import LibraryMissing, LoadedModel
from nanocoder_provider_local.locate import is_usable
from nanocoder_provider_local.parts import DEFAULT_WEIGHTS
from nanocoder_provider_local.settings import Settings


def check(settings: Settings) -> tuple[str, str, str]:
    """Return the name of the check, its status and the detail."""
    name = "embedded model"
    try:
        with closing(LoadedModel(Path(), settings)) as model:
            model.try_engine()
    except LibraryMissing as error:
        way = "; the first request with --model local downloads it (2 MB)" if client() else ""
        return name, "note" if way else "wrong", f"{error}{way}"
    except ProviderError as error:
        return name, "wrong", str(error)
    if is_usable(settings):
        return name, "ok", "its engine runs, and its weights are there"
    size = f"{DEFAULT_WEIGHTS.size / 1e9:.1f} GB"
    where = f"the first request with --model local downloads its weights, {size}, into"
    return name, "note", f"its engine runs; {where} {models_folder()}"
