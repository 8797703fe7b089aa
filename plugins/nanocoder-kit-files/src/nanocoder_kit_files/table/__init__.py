"""Tables for a person: aligned columns, on a terminal wrapped to its width."""

from nanocoder_kit_files.table.printing import cells_of, print_table

__all__ = ["cells_of", "print_table"]
