"""`nanocoder config schema`: what editors know of the configuration."""

import json
from typing import Annotated

import pytest
from attrs import field, frozen
from nanocoder_command_setup.schema import config_schema


@frozen
class Core:
    """Keys of the core."""

    model: str = ""


@frozen
class PluginsTable:
    """Keys of all plugins."""

    disable: tuple[str, ...] = ()


@frozen
class Settings:
    """A plugin's own."""

    timeout_s: int = field(default=30, metadata={"description": "A limit."})


def tables_of(**classes):
    """Return the tables of plugins in the schema of a configuration."""
    schema = config_schema({(): Core, ("plugins",): PluginsTable}, classes)
    return json.loads(json.dumps(schema))["properties"]["plugins"]["properties"]


@pytest.mark.timeout(60)
def test_the_schema_describes_core_and_plugins(nanocoder):
    done = nanocoder("config", "schema")
    assert done.returncode == 0, done.stderr
    properties = json.loads(done.stdout)["properties"]
    assert properties["mode"]["description"].startswith("The mode, which decides")
    plugins = properties["plugins"]["properties"]
    assert {"disable", "strict", "policy-rules"} <= set(plugins)
    assert plugins["policy-rules"]["additionalProperties"] is False


def test_each_plugin_has_its_table_with_its_descriptions():
    @frozen
    class Other:
        limits: Annotated[dict[str, int], "By name."] = field(factory=dict)

    plugins = tables_of(one=Settings, other=Other)
    assert plugins["one"]["properties"]["timeout_s"]["description"] == "A limit."
    assert plugins["one"]["additionalProperties"] is False
    assert set(plugins["other"]["properties"]) == {"limits"}
    assert "disable" in plugins


def test_what_is_no_setting_is_not_in_the_schema_for_editors():
    class Clock:
        """Of a type that no file can hold."""

    @frozen
    class WithState:
        size: int = 1
        clock: Clock = field(factory=Clock, init=False)

    assert set(tables_of(p=WithState)["p"]["properties"]) == {"size"}
