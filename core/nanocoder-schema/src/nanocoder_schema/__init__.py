"""Arguments described and checked, strict JSON, text made safe and cut; names load at first use."""

import sys

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_schema": "front_door",
    "nanocoder_schema.clipping": """
        REPETITION_CHARS OutputLimit brief clip clip_output count_tokens repeats_itself
        without_password
    """,
    "nanocoder_schema.errors": """
        BadArguments ConfigError NanocoderError PersonError ToolError UsageError problem_of
        text_of_error
    """,
    "nanocoder_schema.json_text": "canonical_json copy_arguments json_problem normalise parse_json",
    "nanocoder_schema.bounds": "Param",
    "nanocoder_schema.signature": "Signature structure",
    "nanocoder_schema.text": """
        SURELY_MEANT counted did_you_mean for_model for_terminal is_hidden nearest one_line
    """,
    "nanocoder_schema.model_schema": "for_model_schema",
    "nanocoder_schema.value": "Shown Value field_types lazy_define lazy_frozen wrong_field",
}


def front_door(package: str, names_of: dict[str, str]) -> tuple[list[str], object, object]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package that loads names at first use.

    *names_of* has, by module, the names that are defined there.
    """
    homes = {name: module for module, names in names_of.items() for name in names.split()}
    public = sorted(homes)

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(homes[name]), name)
        vars(sys.modules[package])[name] = value
        return value

    return public, load, lambda: public


__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
