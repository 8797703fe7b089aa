"""What a rewind takes out of the transcript."""

from random import Random

import pytest
from nanocoder_kit_sessions import without_rewound
from nanocoder_kit_sessions.records import Record

MANY = 100_000
"""With each rewind looking at all records before it, these would take minutes."""


def rewound(seq, first):
    return Record(seq, "transcript.rewound", 0.0, {"from": first})


def of_one_rewind_at_a_time(records):
    standing = []
    for record in records:
        if record.kind == "transcript.rewound" and isinstance(record.data["from"], int):
            first = record.data["from"]
            changes = "session.changed"
            standing = [each for each in standing if each.seq < first or each.kind == changes]
        standing.append(record)
    return standing


@pytest.mark.parametrize("seed", range(20))
def test_rewinds_that_meet_and_rewinds_of_rewinds_take_back_what_each_names(seed):
    random = Random(seed)
    records = []
    for seq in range(1, 60):
        kind = random.choice(["message", "session.changed", "transcript.rewound"])
        first = random.choice([random.randint(0, 70), "x", None])
        records.append(Record(seq, kind, 0.0, {"from": first}))
    assert without_rewound(iter(records)) == of_one_rewind_at_a_time(records)


@pytest.mark.rows(2)
@pytest.mark.parametrize("kind", ["message", "session.changed"])
@pytest.mark.parametrize("first", [10**9, MANY, 1])
def test_many_forged_rewinds_cost_one_look_at_each_record(kind, first):
    records = [Record(seq, kind, 0.0, {}) for seq in range(1, MANY)]
    rewinds = [rewound(MANY + seq, first) for seq in range(MANY)]
    standing = without_rewound([*records, *rewinds])
    are_kept = kind == "session.changed" or first >= MANY
    assert standing[0] is (records if are_kept else rewinds)[0 if are_kept else -1]
    assert standing[-1] is rewinds[-1]
