"""An evaluation, and a comparison of two, as a page with charts."""

from collections.abc import Mapping, Sequence
from typing import Any

from nanocoder_kit_batch.charts import Interval, bars, figures, intervals, standalone
from nanocoder_kit_batch.page import STYLE, facts, page, table
from nanocoder_kit_batch.statistics import wilson

from nanocoder_command_eval.figures import Figures, dollars, number


def figures_page(result: Figures, unmet: Sequence[str]) -> str:
    """Return the page of one evaluation."""
    kinds = [
        Interval(kind or "all", solved / runs, *wilson(solved, runs), f"{solved} of {runs}")
        for kind, (solved, runs) in result.kinds.items()
    ]
    charts = [
        intervals("Solved by kind of task, with the 95 % interval", kinds),
        bars("Failures by class", dict(result.failures), lambda count: f"{count:,.0f}"),
    ]
    lead = f"{result.model}: {result.tasks:,} tasks, {result.runs:,} runs"
    criteria = [table(("criteria that are not met",), [(line,) for line in unmet])] if unmet else []
    cells = facts(
        {
            "pass@1": f"{result.pass_at_1:.1%}",
            "95 % interval": f"{result.low:.1%} to {result.high:.1%}",
            "cost a solved run": dollars(result.cost_per_solved),
            "tokens a solved run": number(result.tokens_per_solved),
            "seconds, half below": f"{result.seconds_p50:.1f}",
        }
    )
    return page(f"Evaluation {result.suite}", lead, [cells, *criteria, figures(charts)])


def comparison_page(a: Figures, b: Figures, verdict: str, data: Mapping[str, Any]) -> str:
    """Return the page of a comparison."""
    sides = [Interval(side.suite, side.pass_at_1, side.low, side.high) for side in (a, b)]
    tokens = {side.suite: side.tokens_per_solved or 0.0 for side in (a, b)}
    costs = {side.suite: side.cost_per_solved or 0.0 for side in (a, b)}
    charts = [
        intervals("pass@1 with the 95 % interval", sides),
        bars("Tokens a solved run", tokens, lambda value: f"{value:,.0f}"),
        bars("Cost a solved run", costs, lambda value: f"${value:.4f}"),
    ]
    rows = [(task, "A") for task in data["only_a"]] + [(task, "B") for task in data["only_b"]]
    cells = facts(
        {
            "B - A": f"{data['difference']:+.1%}",
            "95 % interval": f"{data['low']:+.1%} to {data['high']:+.1%}",
            "p": f"{data['p']:.3f}",
        }
    )
    parts = [cells, figures(charts), table(("task", "solved more often by"), rows)]
    return page(f"{a.suite} and {b.suite}", f"{data['tasks']} tasks: {verdict}", parts)


def comparison_picture(a: Figures, b: Figures, verdict: str) -> str:
    """Return the comparison as one SVG, for a page or a report elsewhere."""
    sides = [Interval(side.suite, side.pass_at_1, side.low, side.high) for side in (a, b)]
    caption = f"pass@1 with the 95 % interval: {verdict}"
    return standalone(intervals(caption, sides), STYLE.read_text(encoding="utf-8"))
