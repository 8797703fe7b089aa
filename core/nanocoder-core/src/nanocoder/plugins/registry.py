"""The plugins of one process and their offers, loaded at first use; failures are contained."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nanocoder_discovery import DESCRIBE_DEADLINE_S, Describer, Entry, load, parts_of, site_paths
from nanocoder_discovery.installed import Installed, import_plugin, import_problem
from nanocoder_schema import did_you_mean, evolve, nearest, value

from nanocoder.cancel import LateError
from nanocoder.errors import PluginError, UnknownTool
from nanocoder.hooks.dispatch import Implementation, attempt
from nanocoder.hooks.marks import RANK
from nanocoder.hooks.specs import GATES, STYLES, guess_description
from nanocoder.plugins.offered_tools import TOOLS, Offer, choose_owner, stub, unsound, wrapped_by
from nanocoder.tools.tool import Tool, Tools
from nanocoder.values import EMPTY
from nanocoder.version import VERSION

SettingsOf = Callable[[str, type], Any]

MAIN = "from nanocoder.plugins.introspect import main; main()"
DESCRIBER = Describer(MAIN, VERSION, guess_description)
GONE = """it was installed at the last start and is gone, so its rules no longer apply
To restore it: nanocoder plugins install {0}
To go on without it: nanocoder plugins remove {1}"""
NEEDED = "nanocoder does not start without this {}"
WAYS = "fix it, uninstall it, or list it in plugins.disable"
MAX_FAILURES = 5
"""The most failures of a plugin in a session before it is disabled."""


@value(eq=False)
class Configured:
    """The configuration of plugins and tools.

    *disabled* plugins are removed. *owners* maps a tool that several plugins offer to its plugin,
    *names* a tool to its new name; *hidden* tools are not offered. Only the plugins in *wrapping*
    (None: all) wrap tools of others; they get *trusted_folder*.
    """

    settings_of: SettingsOf
    disabled: Iterable[str] = ()
    owners: Mapping[str, str] = EMPTY
    names: Mapping[str, str] = EMPTY
    hidden: Collection[str] = ()
    wrapping: Collection[str] | None = None
    trusted_folder: Path | None = None


class Plugins:
    """Plugins by name: `Plugins()` is empty, `Plugins.installed()` has those that pip installed.

    A broken plugin is disabled: `set_aside` has the reason, and everything else works. *failed*
    has those that failed too often in this session, *removed* those that were removed, with the
    reason, and *gone* those that were installed at the last start. *importing* is the name of the
    plugin that is being imported, or "".
    """

    def __init__(
        self, entries: Mapping[str, Entry] | None = None, *, fresh: Sequence[str] = ()
    ) -> None:
        self.entries: dict[str, Entry] = dict(entries or {})
        self.fresh = tuple(fresh)
        self.gone: Mapping[str, tuple[str, bool]] = EMPTY
        self.set_aside: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        self._failures: Counter[str] = Counter()
        self.reports: list[PluginError] = []
        self.importing = ""
        self._configured = Configured(lambda _, cls: cls())
        self.removed: dict[str, tuple[Entry, str]] = {}
        self._left_out: dict[str, str] = {}
        self._settings: dict[str, Any] = {}
        self._manager: Any = None
        # Parallel calls may load the same plugin.
        self._loading = threading.RLock()
        self._loaded: dict[str, Mapping[str, Any]] = {}
        self._implementations: dict[str, list[Implementation]] = {}
        self._tools: Tools | None = None
        for name, entry in list(self.entries.items()):
            if entry.error:
                self.disable(name, entry.error)

    @classmethod
    def installed(
        cls,
        cache: Path | None = None,
        *,
        sites: Iterable[str] | None = None,
        deadline_s: float = DESCRIBE_DEADLINE_S,
        refused: Mapping[str, str] = EMPTY,
        files: Sequence[Installed] = (),
    ) -> "Plugins":
        """Return the plugins of the site directories, described by the manifest in *cache*.

        *files* are plugins of one file. *refused* maps names of disabled plugins to
        reasons: they are not imported, not even to describe them.
        """
        paths = site_paths() if sites is None else list(sites)
        manifest = load(paths, cache, DESCRIBER, deadline_s, refused, files)
        return cls(manifest.entries, fresh=manifest.fresh)

    def add(self, plugin: object, name: str, *, version: str = "0") -> None:
        """Add a module or an object of functions by hand.

        Raises: PluginError, and adds nothing, if it is not valid.
        """
        from nanocoder.plugins.introspect import describe

        if name in self.entries:
            raise PluginError(name, "a plugin of this name is already there")
        description = describe(plugin, name)
        since = max((entry.since for entry in self.entries.values()), default=0) + 1
        self.entries[name] = Entry(name, "", name, version, description=description, since=since)
        self.entries = dict(sorted(self.entries.items()))
        self._register(name, plugin)
        self._invalidate()

    def remove(self, name: str, reason: str = "was removed") -> None:
        """Remove a plugin and its offers at once; messages about it state *reason*."""
        if name in self.entries:
            self.removed[name] = (self.entries.pop(name), f"it {reason}")
        self._loaded.pop(name, None)
        if self._manager is not None and self._manager.has_plugin(name):
            self._manager.unregister(name=name)
        self._invalidate()

    def configure(self, settings_of: SettingsOf, **options: Any) -> None:
        """Apply the configuration; *options* are the other fields of `Configured`."""
        self._configured = Configured(settings_of, **options)
        for name in self._configured.disabled:
            if name in self.entries:
                self.removed[name] = (self.entries.pop(name), "plugins.disable names it")
            self.set_aside.pop(name, None)
        self._invalidate()

    def renew_settings(self, settings_of: SettingsOf) -> None:
        """Rebuild the settings in use, including those of policies, with *settings_of*.

        Raises: ConfigError or PluginError, and changes nothing, if one is invalid.
        """
        classes = {name: self.settings_class(name) for name in self._settings}
        fresh = {name: settings_of(name, cls) for name, cls in classes.items() if cls is not None}
        self._configured = evolve(self._configured, settings_of=settings_of)
        self._settings = fresh

    def require_policies(self) -> None:
        """Load every plugin that judges calls.

        Raises: PluginError if one cannot work, or is gone without a person's approval.
        """
        if gone := sorted(self.gone.keys() & self.set_aside.keys()):
            packages = sorted({self.gone[name][0].partition(" ")[0] for name in gone})
            raise PluginError(" ".join(gone), GONE.format(" ".join(packages), " ".join(gone)))
        for name, entry in self.entries.items():
            if entry.is_policy:
                self._load(name)
                # An invalid rule must stop the start, not the first call.
                self.settings(name)

    def implementations(self, hook: str) -> list[Implementation]:
        """Return the implementations of *hook*, loading their plugins.

        They are in the order of the plugins' names; if the first answer wins, by rank first.
        """
        if (implementations := self._implementations.get(hook)) is None:
            names = [name for name, entry in self.entries.items() if hook in entry.hooks]
            if STYLES.get(hook) == "choose":
                names.sort(key=lambda name: (self.entries[name].rank(hook, RANK), name))
            functions = (self._implementation(name, hook) for name in names)
            implementations = self._implementations[hook] = list(filter(None, functions))
        return implementations

    def settings(self, name: str) -> Any:
        """Return the plugin's settings, built from the configuration; None if it has none."""
        if name not in self._settings:
            cls = self.settings_class(name)
            self._settings[name] = None if cls is None else self._configured.settings_of(name, cls)
        return self._settings[name]

    def settings_class(self, name: str) -> type | None:
        """Return the attrs class of the plugin's settings, loading the plugin."""
        if (implementation := self._implementation(name, "nanocoder_settings")) is None:
            return None
        from nanocoder.plugins.introspect import settings_class

        return settings_class(name, attempt(implementation, {}))

    def offers(self, what: str) -> list[tuple[Entry, Mapping[str, Any]]]:
        """Return (plugin, description) of each offer of kind *what* ("tools", "providers" …)."""
        # A list: a generator would be entered for each of the plugins.
        entries = [entry for name, entry in self.entries.items() if name not in self.set_aside]
        return [(entry, offer) for entry in entries for offer in entry.description.get(what, ())]

    def offered(self, what: str, name: str) -> tuple[str, Any] | None:
        """Return (plugin, object) of the offer *name*, or None, loading that plugin alone.

        Raises: PluginError if two plugins offer it: neither may win by its name.
        """
        owners = [entry.name for entry, offer in self.offers(what) if offer["name"] == name]
        if len(set(owners)) > 1:
            both = " and ".join(dict.fromkeys(owners))
            problem = f"{what} {name!r} is offered by {both}; name one of them in plugins.disable"
            raise PluginError(owners[-1], problem)
        return (owners[0], self.real(owners[0], what, name)) if owners else None

    def tools(self) -> Tools:
        """Return all tools by name, sorted, without loading a plugin.

        If two plugins offer one name, the plugin in `owners` wins, otherwise the one installed
        first; the other is reported.
        Raises: PluginError if a plugin fails to wrap a tool of others.
        """
        if self._tools is None:
            tools = self._owned_tools()
            for name in filter(self._wraps, self.entries):
                tools = self._wrapped_by(name, tools)
            problems = unsound({name: tool.composed_of for name, tool in tools.items()})
            for name, problem in problems.items():
                self._left_out[name] = problem
                self.report(PluginError(tools.pop(name).plugin, problem))
            self._tools = tools
        return self._tools

    def _wraps(self, name: str) -> bool:
        """Return True if a plugin wraps tools of others, and the configuration lets it."""
        is_let = self._configured.wrapping is None or name in self._configured.wrapping
        return is_let and "tools" in self.entries[name].hooks.get(TOOLS, ())

    def _wrapped_by(self, name: str, tools: Tools) -> Tools:
        implementation = self._implementation(name, TOOLS)
        if implementation is None:  # what it wraps may be less safe without it
            why = self.set_aside.get(name, f"it no longer implements {TOOLS}")
            raise PluginError(name, f"{why}; {NEEDED.format('plugin, which wraps tools')}: {WAYS}")
        self.settings(name)  # an invalid value is a ConfigError, not the plugin's failure
        context = {"settings": self.settings, "trusted_folder": self._configured.trusted_folder}
        tools = wrapped_by(implementation, {"tools": tools, **context})
        return {name: tool for name, tool in tools.items() if name not in self._configured.hidden}

    def tool(self, name: str, offered: Tools | None = None) -> Tool[..., Any]:
        """Return the tool *name* of those *offered*, or of all; raises UnknownTool, with why."""
        tools = self.tools() if offered is None else offered
        if (tool := tools.get(name)) is not None:
            return tool
        near = [*nearest(name, tools, limit=20, cutoff=0), "…"][: len(tools)]
        available = ", ".join(near) or "none; install a nanocoder-tool-* package"
        reason = self.why_missing(name)
        hint = f"; {reason}." if reason else did_you_mean(name, tools, ".", limit=3)
        raise UnknownTool(f"Unknown tool: {name}{hint} Tools: {available}")

    def modules(self, tools: Iterable[Tool[..., Any]]) -> list[str]:
        """Return the modules that the first calls of *tools* will import, policies first."""
        owners = {tool.plugin for tool in tools} & (self.entries.keys() - self._loaded.keys())
        if not owners:
            return []
        policies = [entry for entry in self.entries.values() if entry.is_policy]
        judging = [module for policy in policies for module in parts_of(policy.module)]
        waiting = [self.entries[owner].module for owner in sorted(owners)]
        return ["nanocoder_schema.check", "nanocoder_files.workspace", *judging, *waiting]

    def why_missing(self, name: str, what: str = "tools") -> str:
        """Return the reason why *name* is not offered; "" if no installed plugin has it."""
        for entry, offer in self.offers("tools") if what == "tools" else ():
            offered_as = self._name_of(entry, offer)
            if name not in {offered_as, offer["name"]}:
                continue
            if offered_as in self._configured.hidden:
                return "tools.disable switches it off (nanocoder config where tools.disable)"
            if offered_as != name:
                return f"tools.rename calls it {offered_as!r}"
            if name in self._left_out:
                return self._left_out[name]
        reasons = {name: f"it is disabled: {why}" for name, why in self.set_aside.items()}
        set_aside = [(self.entries[it], why) for it, why in reasons.items() if it in self.entries]
        for entry, reason in [*self.removed.values(), *set_aside]:
            if any(offer["name"] == name for offer in entry.offers(what)):
                return f"the plugin {entry.name!r} has it, but {reason}"
        return ""

    def report(self, error: PluginError) -> None:
        """Record a plugin's failure; a repeated one is dropped."""
        entry = self.entries.get(error.plugin)
        # A policy may not be disabled, it denies at each timeout; nor what wraps tools.
        self._failures[error.plugin] += 1
        is_late = isinstance(error.__cause__, LateError)
        is_spent = is_late or self._failures[error.plugin] >= MAX_FAILURES
        if is_spent and entry and not (entry.is_policy or self._wraps(entry.name)):
            self.disable(error.plugin, error.problem)
            # The machine may be less busy in the next session.
            self.failed |= {} if is_late else {error.plugin: error.problem}
        if str(error) not in map(str, self.reports):
            self.reports.append(error)

    def _owned_tools(self) -> Tools:
        claims: dict[str, list[Offer]] = {}
        for entry, offer in self.offers("tools"):
            name = self._name_of(entry, offer)
            if name not in self._configured.hidden:
                claims.setdefault(name, []).append((entry, offer))
        tools = {}
        for name, offers in sorted(claims.items()):
            chosen, problems = choose_owner(name, offers, self._configured.owners.get(name, ""))
            for plugin, problem in problems.items():
                self.report(PluginError(plugin, problem))
            if chosen is None:
                self._left_out[name] = next(iter(problems.values()))
            else:
                entry, offer = chosen
                load = partial(self.real, entry.name, "tools", offer["name"])
                tools[name] = stub(name, entry, offer, load)
        return tools

    def _name_of(self, entry: Entry, offer: Mapping[str, Any]) -> str:
        name = self._configured.names.get(offer["name"], offer["name"])
        return self._configured.names.get(f"{entry.name}:{offer['name']}", name)

    def real(self, plugin: str, what: str, name: str) -> Any:
        """Return the object *name* that *plugin* offers; raises PluginError.

        It must match its description in the manifest.
        """
        from nanocoder.plugins.introspect import OFFERS, offered

        hook = f"nanocoder_{what}"
        if (implementation := self._implementation(plugin, hook)) is None:
            raise PluginError(plugin, self.set_aside.get(plugin, f"no longer implements {hook}"))
        for offer in offered(plugin, hook, attempt(implementation, {}), OFFERS[hook]):
            if offer.name == name:
                return offer
        problem = f"no longer offers {name!r}; the manifest is rebuilt at the next start"
        raise PluginError(plugin, problem)

    def _implementation(self, name: str, hook: str) -> Implementation | None:
        entry = self.entries.get(name)
        if entry is None or hook not in entry.hooks or name in self.set_aside:
            return None
        hookimpl = self._load(name).get(hook)
        if hookimpl is None:
            return None
        events = hookimpl.opts.get("events", ())
        return Implementation(name, hook, hookimpl.function, tuple(hookimpl.argnames), events)

    def _load(self, name: str) -> Mapping[str, Any]:
        with self._loading:
            entry, is_usable = self.entries[name], name not in self.set_aside
            if is_usable and name in self._loaded:
                return self._loaded[name]
            try:
                if is_usable:
                    # No deadline: an abandoned import would lock its modules for all others.
                    self.importing = name
                    return self._register(name, import_plugin(entry.module))
            except PluginError as error:
                self.disable(name, error.problem)
            except BaseException as error:  # a plugin's sys.exit must not end the program
                self.disable(name, import_problem(error, entry.module))
                if isinstance(error, KeyboardInterrupt):  # by a person, or by the plugin itself
                    raise KeyboardInterrupt(f"while plugin {name!r} was imported") from error
            finally:
                self.importing = ""
        reason = self.set_aside[name]
        if entry.is_policy:
            raise PluginError(name, f"{reason}; {NEEDED.format('policy')}: {WAYS}")
        if is_usable:
            self.report(PluginError(name, f"{reason}; it is disabled for this session: {WAYS}"))
        return {}

    def _register(self, name: str, plugin: object) -> Mapping[str, Any]:
        from nanocoder.plugins.introspect import new_manager, register

        if self._manager is None:
            self._manager = new_manager()
        hookimpls = register(self._manager, plugin, name)
        # A policy that lost its hook would silently allow everything.
        if other := sorted((self.entries[name].hooks.keys() ^ hookimpls.keys()) & GATES):
            problem = f"its {' and '.join(other)} and the plugin manifest do not match"
            raise PluginError(name, f"{problem}; reinstall it to update the manifest")
        self._loaded[name] = hookimpls
        return hookimpls

    def disable(self, name: str, reason: str) -> None:
        """Disable a plugin: it offers nothing, and *reason* is shown to a person."""
        self.set_aside[name] = reason
        self._invalidate()

    def _invalidate(self) -> None:
        self._implementations.clear()
        self._left_out.clear()
        self._tools = None
