"""The base of batches and evaluations: tasks, their workspaces, the work itself, its results."""

from nanocoder_kit_batch.limits import Limits, Rate
from nanocoder_kit_batch.results import Results
from nanocoder_kit_batch.running import Batch
from nanocoder_kit_batch.tally import Tally, failure_of, quantile
from nanocoder_kit_batch.tasks import Defaults, Task, read_tasks
from nanocoder_kit_batch.work import do_job

__all__ = [
    "Batch",
    "Defaults",
    "Limits",
    "Rate",
    "Results",
    "Tally",
    "Task",
    "do_job",
    "failure_of",
    "quantile",
    "read_tasks",
]
