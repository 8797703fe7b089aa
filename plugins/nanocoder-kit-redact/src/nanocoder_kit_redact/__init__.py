"""Takes secrets out of text: one redactor for results, journals, logs, exports and recordings.

Names load their module when they are first used: a key that is read needs none of the forms.
"""

from nanocoder_schema import front_door

__all__, __getattr__, __dir__ = front_door(__name__)
