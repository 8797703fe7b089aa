from collections.abc import Callable, Mapping

from nanocoder_schema.bounds import Param as Param
from nanocoder_schema.clipping import REPETITION_CHARS as REPETITION_CHARS
from nanocoder_schema.clipping import OutputLimit as OutputLimit
from nanocoder_schema.clipping import brief as brief
from nanocoder_schema.clipping import clip as clip
from nanocoder_schema.clipping import clip_output as clip_output
from nanocoder_schema.clipping import count_tokens as count_tokens
from nanocoder_schema.clipping import repeats_itself as repeats_itself
from nanocoder_schema.clipping import without_password as without_password
from nanocoder_schema.errors import BadArguments as BadArguments
from nanocoder_schema.errors import ConfigError as ConfigError
from nanocoder_schema.errors import NanocoderError as NanocoderError
from nanocoder_schema.errors import PersonError as PersonError
from nanocoder_schema.errors import ToolError as ToolError
from nanocoder_schema.errors import UsageError as UsageError
from nanocoder_schema.errors import problem_of as problem_of
from nanocoder_schema.errors import text_of_error as text_of_error
from nanocoder_schema.json_text import canonical_json as canonical_json
from nanocoder_schema.json_text import copy_arguments as copy_arguments
from nanocoder_schema.json_text import json_problem as json_problem
from nanocoder_schema.json_text import normalise as normalise
from nanocoder_schema.json_text import parse_json as parse_json
from nanocoder_schema.model_schema import for_model_schema as for_model_schema
from nanocoder_schema.signature import Signature as Signature
from nanocoder_schema.signature import structure as structure
from nanocoder_schema.text import SURELY_MEANT as SURELY_MEANT
from nanocoder_schema.text import counted as counted
from nanocoder_schema.text import did_you_mean as did_you_mean
from nanocoder_schema.text import for_model as for_model
from nanocoder_schema.text import for_terminal as for_terminal
from nanocoder_schema.text import is_hidden as is_hidden
from nanocoder_schema.text import nearest as nearest
from nanocoder_schema.text import one_line as one_line
from nanocoder_schema.value import Shown as Shown
from nanocoder_schema.value import Value as Value
from nanocoder_schema.value import field_types as field_types
from nanocoder_schema.value import lazy_define as lazy_define
from nanocoder_schema.value import lazy_frozen as lazy_frozen
from nanocoder_schema.value import wrong_field as wrong_field

def front_door(
    package: str, names_of: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]: ...
