"""Arguments described and checked, strict JSON, text made safe; names load when they are used."""

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_schema.errors": "BadArguments NanocoderError ToolError",
    "nanocoder_schema.json_text": "canonical_json copy_arguments json_problem parse_json",
    "nanocoder_schema.param": "Param",
    "nanocoder_schema.signature": "Signature structure",
    "nanocoder_schema.text": """
        SURELY_MEANT counted did_you_mean for_model for_terminal is_hidden nearest one_line
    """,
    "nanocoder_schema.model_schema": "for_model_schema",
    "nanocoder_schema.value": "Shown Value",
    "nanocoder_schema.call_forms": "normalise",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOME)  # noqa: PLE0605 - the table is the one list


def __getattr__(name: str) -> object:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
