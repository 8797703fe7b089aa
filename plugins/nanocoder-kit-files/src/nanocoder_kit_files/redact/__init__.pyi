from nanocoder_kit_files.redact.json_texts import SecretFoundError as SecretFoundError
from nanocoder_kit_files.redact.known import is_secret_name as is_secret_name
from nanocoder_kit_files.redact.known import remember as remember
from nanocoder_kit_files.redact.placeholders import placeholder as placeholder
from nanocoder_kit_files.redact.placeholders import placeholders_in as placeholders_in
from nanocoder_kit_files.redact.redactor import Redactor as Redactor
from nanocoder_kit_files.redact.redactor import RedactorStream as RedactorStream
from nanocoder_kit_files.redact.structure import redact_value as redact_value
