"""The table [plugins.policy-ignore]."""

from attrs import field
from nanocoder import value


@value
class Settings:
    """The table `[plugins.policy-ignore]`.

    *patterns* count as if they were in a `.nanocoderignore` of every workspace; a project's file
    may add some. *allow* are patterns of files that may be read all the same.
    """

    patterns: tuple[str, ...] = field(default=(), metadata={"tighten": "union"})
    allow: tuple[str, ...] = field(default=(), metadata={"user_only": True})
