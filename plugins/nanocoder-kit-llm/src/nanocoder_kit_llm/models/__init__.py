"""Models as their vendors describe them: context window, price, abilities.

The table is read when the first model is looked up, not when this module is imported.
"""

from nanocoder_kit_llm.models.model import FREE, Model, Price
from nanocoder_kit_llm.models.table import MODELS_SETTING, Catalog, source_of_table

__all__ = ["FREE", "MODELS_SETTING", "Catalog", "Model", "Price", "source_of_table"]
