"""`nanocoder policy replay SESSION`: changes of a session's verdicts by the present rules."""

from argparse import Namespace

from nanocoder import Host

from nanocoder_command_policy.differences import Difference, counted, print_differences
from nanocoder_command_policy.judging import judging
from nanocoder_command_policy.stored_calls import calls_of_session


def run(arguments: Namespace, host: Host) -> int:
    """Print the calls that would be judged otherwise now; return 1 when there are any."""
    stored = calls_of_session(host, arguments.id)
    with judging(host) as judge:
        ruled = judge.all((it.call, it.mode) for it in stored)
    differences = counted(
        Difference(then.call, then.mode, then.decision, now.decision, now.why)
        for then, now in zip(stored, ruled, strict=True)
        if then.decision != now.decision
    )
    if arguments.output == "json":
        host.print_json({"calls": len(stored), "verdicts": [it.data() for it in differences]})
        return 1 if differences else 0
    if differences:
        print_differences(differences)
    same = len(stored) - sum(it.times for it in differences)
    host.print_line(f"{same} of {len(stored)} calls would be judged the same now")
    return 1 if differences else 0
