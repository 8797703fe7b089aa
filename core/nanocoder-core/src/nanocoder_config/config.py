"""The configuration of one start, with each layer read once.

Each plugin's table is validated at its first use.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from attrs import Attribute
from nanocoder_files import writable_by_others
from nanocoder_schema import (
    SURELY_MEANT,
    BadArguments,
    ConfigError,
    UsageError,
    did_you_mean,
    without_password,
)

from nanocoder_config.document import (
    ConfigFile,
    UnreadableError,
    above,
    is_trusted,
    project_file,
    read_project_bytes,
    read_user_file,
)
from nanocoder_config.layers import (
    Check,
    Layer,
    LayerName,
    Origin,
    check_minimum,
    checked,
    from_text,
    hint,
    is_plain,
    keys_of,
    loosens_managed,
    resolve,
    variable_of,
)
from nanocoder_config.places import MANAGED_DIR, home_warning, refusal, user_config_dir

T = TypeVar("T")

SECRET_NAMES = ("key", "token", "secret", "password", "passwd", "credentials")
MASK = "(hidden)"


class LayeredConfig:
    """Settings merged from all layers; a program derives a subclass with its *tables*.

    *tables* has the settings class of each table; that of `()` has the top-level keys, which
    variables and flags set, too. With a table `("plugins",)` each plugin has one of its own inside,
    validated when `settings` first reads it. *values* are the settings of *tables*.

    *notices* has a line for each ignored setting, and more once plugins' tables are read.
    *trusted*: the directory is trusted, so that its file counts in full, and *trusted_folder* is
    that directory. *refusal* is the reason why no session may open here, *warning* a warning for
    the person, or "".
    """

    tables: ClassVar[Mapping[tuple[str, ...], type]]

    def __init__(
        self, layers: list[Layer], notices: tuple[str, ...] = (), *, trusted: bool = False
    ) -> None:
        """Resolve the tables of *layers*, weakest first."""
        self._layers = layers
        self.notices = notices
        self._origins: dict[tuple[str, ...], Mapping[str, Origin]] = {}
        self._managed: dict[str, tuple[Any, Origin]] = {}
        self._settings: dict[str, Any] = {}
        self._reload: Callable[..., Self] | None = None
        self.trusted = trusted
        self.trusted_folder: Path | None = None
        self.refusal = ""
        self.warning = ""
        self.values: dict[tuple[str, ...], Any] = {
            path: self._merged(cls, path, checked) for path, cls in self.tables.items()
        }

    @classmethod
    def load(
        cls,
        cwd: Path,
        *,
        environment: Mapping[str, str] = os.environ,
        flags: Mapping[str, Any] | None = None,
        managed_dir: Path = MANAGED_DIR,
        trusted: bool | None = None,
    ) -> Self:
        """Read every layer for *cwd*.

        *flags* are top-level keys, and "profile" (None: not given); *trusted* overrides the stored
        trust. No variable and no flag changes *managed_dir*. Raises: ConfigError (exit code 2) for
        an invalid file or variable, UsageError for an invalid flag.
        """
        again = partial(cls.load, cwd, flags=flags, trusted=trusted)
        notices: list[str] = []
        refused = refusal(cwd, environment)
        trusts = partial(is_trusted, environment=environment)
        if trusted is None:
            trusted = not refused and trusts(cwd)
        options = {key: value for key, value in (flags or {}).items() if value is not None}
        profile = options.pop("profile", "")
        names = {key: "--" + key.removesuffix("_usd").replace("_", "-") for key in options}
        keys = keys_of(cls.tables[()])
        # Weakest first.
        layers = [
            # As values here; it also limits all others, see `layers`.
            _managed_layer(managed_dir),
            # If a project could have written the user's file, it is not read.
            None if refused else _user_layer(environment, notices),
            # Trust is for a directory and its configuration, so each is checked by itself.
            *[_project_layer(it, notices, trusted=trusted and trusts(it)) for it in above(cwd)],
            _project_layer(cwd, notices, trusted=trusted),
            # A profile was named for this run, so it overrides the project's file.
            _profile_layer(profile, environment),
            _environment_layer(environment, keys),
            Layer("flag", options, names=names),
        ]
        notices += _misspelt_variables(environment, keys)
        config = cls([layer for layer in layers if layer], tuple(notices), trusted=trusted)
        config.refusal = refused
        config.warning = "" if refused else home_warning(cwd, environment)
        config.trusted_folder = cwd if trusted else None
        # Variables and flags stay the same: only files change while a session runs.
        config._reload = partial(again, environment=environment, managed_dir=managed_dir)
        return config

    @classmethod
    def of_user(cls, document: ConfigFile) -> Self:
        """Build a configuration from a user's file alone; raises ConfigError if it is invalid."""
        return cls([Layer("user", document.data, document)])

    def refuse_change(self, key: str, value: object) -> None:
        """Raise UsageError for a *value* of the top-level *key* that loosens a managed one."""
        metadata = keys_of(self.tables[()])[key].metadata
        if reason := loosens_managed(metadata, self._managed.get(key), value):
            raise UsageError(f"{key}: {reason}")

    def reread(self, **changes: Any) -> Self:
        """Read the same layers again; a configuration not made by `load` is returned unchanged.

        *changes* replace arguments of `load`.

        Raises: ConfigError, as `load` does.
        """
        return self if self._reload is None else self._reload(**changes)

    def settings(self, plugin: str, cls: type[T]) -> T:
        """Return the plugin's settings: its table, validated, over the defaults of *cls*.

        Raises: ConfigError, naming file, line, key and the expected value.
        """
        if plugin not in self._settings:
            self._settings[plugin] = self._structured(plugin, cls)
        settings: T = self._settings[plugin]
        return settings

    def where(self, key: str, plugin_classes: Mapping[str, type] | None = None) -> Origin:
        """Return the origin of the value of a dotted *key*.

        Raises: UsageError for an unknown key, naming the nearest one.
        """
        origins = {name: origin for name, _, origin in self.items(plugin_classes or {})}
        for layer in self._layers:
            for plugin, table in _plugin_tables(layer).items():
                for name in table:
                    origin = layer.origin(("plugins", plugin, name))
                    origins.setdefault(f"plugins.{plugin}.{name}", origin)
        if key not in origins:
            raise UsageError(f"there is no configuration key {key!r}{hint(key, list(origins))}")
        return origins[key]

    def items(self, plugin_classes: Mapping[str, type]) -> list[tuple[str, Any, Origin]]:
        """Return (key, value, origin) of every setting; secrets are masked."""
        tables = dict(self.values)
        for plugin, cls in sorted(plugin_classes.items()):
            tables["plugins", plugin] = self.settings(plugin, cls)
        return [
            (
                ".".join((*path, key)),
                _masked(attribute, getattr(table, attribute.name)),
                self._origins[path].get(key, Origin("default")),
            )
            for path, table in tables.items()
            for key, attribute in keys_of(type(table)).items()
        ]

    @cached_property
    def plugins_with_settings(self) -> frozenset[str]:
        """The plugins that have a table in one of the files, installed or not."""
        return frozenset(name for layer in self._layers for name in _plugin_tables(layer))

    def tables_of(self, plugin: str) -> list[Mapping[str, Any]]:
        """Return the plugin's table of each layer that has one, unchecked, the weakest first."""
        tables = (_plugin_tables(layer).get(plugin) for layer in self._layers)
        return [table for table in tables if table]

    @property
    def managed_plugins(self) -> frozenset[str]:
        """The plugins that have a table in the managed file."""
        managed = (layer for layer in self._layers if layer.name == "managed")
        return frozenset(name for layer in managed for name in _plugin_tables(layer))

    def unknown_plugins(self, plugins: frozenset[str], *, surely: bool = False) -> tuple[str, ...]:
        """Return one line for each table of a plugin that is not among the installed *plugins*.

        With *surely* only those that are surely a typo, in a trusted file: an untrusted project's
        file must not prevent a start.
        """
        return tuple(
            f"{layer.origin(('plugins', name))}: there is no plugin {name!r}"
            f"{hint(name, sorted(plugins))}"
            for layer in self._layers
            for name in _plugin_tables(layer)
            if name not in plugins
            if not surely
            or layer.name == "managed"
            or (layer.trusted and did_you_mean(name, plugins, cutoff=SURELY_MEANT))
        )

    def _structured(self, plugin: str, cls: type[T], *, only_trusted: bool = False) -> T:
        path = ("plugins", plugin)
        self._origins[path] = {}
        if plugin not in self.plugins_with_settings:
            return cls()
        try:
            return self._merged(cls, path, _checker(cls), only_trusted=only_trusted)
        except (ValueError, TypeError) as error:  # from a validation of the whole class
            strange = [each for each in self._layers if not each.trusted and each.table(path)]
            if only_trusted or not strange:
                # The class's message often names the key, but not its origin.
                origins = self._origins[path]
                keys = [key for key in origins if key in str(error)] or [*origins]
                where = f"{origins[keys[0]]}: " if keys else ""
                raise ConfigError(f"{where}plugins.{plugin}: {error}") from None
            self.notices += (f"{strange[0].fault(path, str(error))}; ignored",)
        # Without the untrusted part the table as a whole may be valid.
        return self._structured(plugin, cls, only_trusted=True)

    def _merged(
        self, cls: type[T], path: tuple[str, ...], check: Check, *, only_trusted: bool = False
    ) -> T:
        """Return the settings at *path*, merged from all layers."""
        layers = [layer for layer in self._layers if layer.trusted or not only_trusted]
        inner = () if path else [table[0] for table in self.tables if table]
        resolved = resolve(cls, path, layers, check, inner)
        self._origins[path] = resolved.origins
        self._managed |= {".".join((*path, name)): it for name, it in resolved.managed.items()}
        self.notices += tuple(resolved.notices)
        return cls(**resolved.values)


def _managed_layer(folder: Path) -> Layer | None:
    """Read the administrator's config.toml; raises ConfigError if others can write to it."""
    file = folder / "config.toml"
    if os.path.lexists(folder) and (place := writable_by_others(file)):
        raise ConfigError(f"{file}: users other than root can change {place}; give it to root")
    return _layer_of("managed", file)


def _layer_of(name: LayerName, file: Path) -> Layer | None:
    document = read_user_file(file)
    return None if document is None else Layer(name, document.data, document)


def _user_layer(environment: Mapping[str, str], notices: list[str]) -> Layer | None:
    try:
        folder = user_config_dir(environment)
    except ConfigError as error:
        notices.append(f"{error}; nanocoder runs with its defaults and keeps nothing")
        return None
    return _layer_of("user", folder / "config.toml")


def _profile_layer(name: str, environment: Mapping[str, str]) -> Layer | None:
    """Return the person's profile *name*; raises UsageError if it does not exist."""
    if not name:
        return None
    folder = user_config_dir(environment) / "profiles"
    names = sorted(path.stem for path in folder.glob("*.toml"))
    if name not in names:
        near = did_you_mean(name, names, f"; profiles are files such as {folder}/{name}.toml")
        raise UsageError(f"there is no profile {name!r}{near}")
    return _layer_of("user", folder / f"{name}.toml")


def _project_layer(cwd: Path, notices: list[str], *, trusted: bool) -> Layer | None:
    try:
        content = read_project_bytes(cwd)
        document = None if content is None else ConfigFile(project_file(cwd), content)
    except ConfigError as error:
        # An untrusted project's broken file must not prevent a start.
        if trusted and not isinstance(error, UnreadableError):
            raise
        notices.append(f"{error}; ignored")
        return None
    return None if document is None else Layer("project", document.data, document, trusted=trusted)


def _environment_layer(
    environment: Mapping[str, str], keys: "Mapping[str, Attribute[Any]]"
) -> Layer:
    values, names = {}, {}
    for key, attribute in keys.items():
        variable = variable_of(key)
        text = environment.get(variable, "")
        if not text:
            continue
        try:
            values[key] = from_text(attribute, text)
        except ValueError as error:
            raise ConfigError(f"environment variable {variable}: {error}") from None
        names[key] = variable
    return Layer("environment", values, names=names)


def _misspelt_variables(environment: Mapping[str, str], keys: Iterable[str]) -> list[str]:
    """Return a notice for each variable that looks like a typo of one of ours."""
    variables = list(map(variable_of, keys))
    # Other programs may have variables with this prefix: only a typo is worth a notice.
    unknown = sorted(it for it in {*environment} - {*variables} if it.startswith("NANOCODER_"))
    hints = {name: did_you_mean(name, variables, cutoff=SURELY_MEANT) for name in unknown}
    return [f"unknown environment variable {name}{hint}" for name, hint in hints.items() if hint]


def _checker(cls: type) -> Check:
    """Return a check of a single field's value, so that each problem has its own line."""

    def check(attribute: "Attribute[Any]", value: Any) -> Any:
        if is_plain(attribute, value):
            return tuple(value) if isinstance(value, list) else value
        # This imports cattrs, which plain tables do not need.
        from nanocoder_schema import structure

        key = attribute.alias or attribute.name
        try:
            checked_value = getattr(structure(cls, {key: value}), attribute.name)
        except BadArguments as error:
            problems = (line.removeprefix(f"{key}: ") for line in error.problems)
            raise ValueError("; ".join(problems)) from None
        check_minimum(attribute, checked_value)
        return checked_value

    return check


def _plugin_tables(layer: Layer) -> dict[str, Any]:
    return {
        name: table for name, table in layer.table(("plugins",)).items() if isinstance(table, dict)
    }


def _masked(attribute: "Attribute[Any]", value: Any) -> Any:
    # By the last word: `max_tokens` is no secret, `api_key` is.
    words = attribute.name.lower().split("_")
    is_secret = attribute.metadata.get("secret", words[-1] in SECRET_NAMES)
    if is_secret and value:
        return MASK
    return without_password(value) if isinstance(value, str) else value
