"""The one version of the whole set; `nox -s version` writes it into every package."""

VERSION = "0.1.0"
__version__ = VERSION
