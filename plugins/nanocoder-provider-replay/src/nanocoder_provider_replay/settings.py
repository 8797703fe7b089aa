"""The settings of the plugin."""

from attrs import frozen


@frozen
class Settings:
    """The settings of `[plugins.provider-replay]`.

    *may_differ* are regular expressions; their matches may differ from the recording, in addition
    to the workspace's path, times and durations.
    """

    may_differ: tuple[str, ...] = ()
