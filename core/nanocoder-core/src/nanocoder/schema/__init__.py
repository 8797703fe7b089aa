"""One definition of a tool's arguments: check, static type and JSON Schema.

Importing this package is cheap: cattrs and msgspec come with the first check and the first schema.
"""

from nanocoder.schema.json_text import canonical_json, copied, parse_json, unfit
from nanocoder.schema.normalise import normalise
from nanocoder.schema.param import Param
from nanocoder.schema.signature import Signature, structure
from nanocoder.schema.told import told

__all__ = [
    "Param",
    "Signature",
    "canonical_json",
    "copied",
    "normalise",
    "parse_json",
    "structure",
    "told",
    "unfit",
]
