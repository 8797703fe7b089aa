"""The settings in the configuration, with a check for `nanocoder doctor`."""

from collections.abc import Iterator

from attrs import frozen

from nanocoder_provider_local.settings import Settings


@frozen
class CheckedSettings(Settings):  # noqa: D101 - it has that of the other
    __doc__ = Settings.__doc__  # `config schema` shows the descriptions of the keys

    def checks(self, _trusted_folder: str) -> Iterator[tuple[str, str, str]]:
        """Start the engine, without a model, and yield its check for `nanocoder doctor`."""
        # Only doctor needs a process here.
        from nanocoder_provider_local.checking import check

        yield check(self)
