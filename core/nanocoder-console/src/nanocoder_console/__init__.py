"""The console of a program: declared commands, safe output, text from a pipe, and signals."""

from nanocoder_schema import front_door

# Where each name lives; types are in __init__.pyi.
_NAMES = {
    "nanocoder_console.declarations": "Argument Command",
    "nanocoder_console.parser": """
        HELP SILENT Commands Note Parser actions_of first_words options_of target_of
    """,
    "nanocoder_console.signals": "Signals",
    "nanocoder_console.streams": """
        answers complain is_agreed is_terminal print_json print_line print_table prompt_of
        terminal_width
    """,
}
__all__, __getattr__, __dir__ = front_door(__name__, _NAMES)
