"""Completions in the menu below the prompt."""

from collections.abc import Iterable

from nanocoder_kit_ui.chat import Completions
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document


class ChatCompleter(Completer):
    """Offers what completes a line of a conversation."""

    def __init__(self, completions: Completions) -> None:
        self._completions = completions

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002 - the protocol's
    ) -> Iterable[Completion]:
        """Yield completions for the text before the cursor."""
        for suggestion in self._completions.suggest(document.text_before_cursor):
            yield Completion(
                suggestion.text,
                -suggestion.length,
                display=suggestion.label or suggestion.text,
                display_meta=suggestion.meaning,
            )
