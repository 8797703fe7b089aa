"""The settings of the plugin."""

from attrs import frozen


@frozen
class Settings:
    """The settings of `[plugins.provider-replay]`.

    *may_differ* are regular expressions; what they match may differ from the recording, beside
    the workspace's path, times and durations.
    """

    may_differ: tuple[str, ...] = ()
