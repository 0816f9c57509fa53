"""SCH-16 where two things fall on one instant (section 4.9): a loan's expiry, the lender's demand and the natural end of the work."""

import pytest

from tests.unit.simulator.test_replays import jobs_of, run, times


def lending(*, strict: bool) -> str:
    """b has no nominal and borrows a's eight cards, 100 s at a time."""
    fields = "loan_period_s: 100" + (", strict_expiry: true" if strict else "")
    return f"""\
flavors: {{g: {{cards: any}}}}
nodes: [{{count: 1, name: n0, flavor: g, gpus: 8}}]
cohorts: [{{name: root}}]
tenants:
  - {{name: a, cohort: root, queues: [{{name: q, quota: {{gpu: {{g: {{nominal: 8}}}}}}}}]}}
  - {{name: b, cohort: root, queues: [{{name: q, {fields}, quota: {{gpu: {{g: {{nominal: 0}}}}}}}}]}}
"""


CASES = {
    "the end comes first: nobody is stopped": (False, ["j1,b,q,0,100,1,8"], {"j1": ("0", "100")}, "0"),
    "also under strict expiry": (True, ["j1,b,q,0,100,1,8"], {"j1": ("0", "100")}, "0"),
    "also where the lender asks at that instant": (
        True,
        ["j1,b,q,0,100,1,8", "j2,a,q,100,50,1,8"],
        {"j1": ("0", "100"), "j2": ("100", "150")},
        "0",
    ),
    "nobody asks for the cards: renewed": (False, ["j1,b,q,0,250,1,8"], {"j1": ("0", "250")}, "0"),
    "the lender asks at the instant of the expiry": (
        False,
        ["j1,b,q,0,250,1,8", "j2,a,q,100,50,1,8"],
        {"j1": ("0", "300"), "j2": ("100", "150")},
        "1",
    ),
}


@pytest.mark.parametrize(("strict", "rows", "want", "preemptions"), CASES.values(), ids=CASES.keys())
def test_a_loan_at_the_instant_of_the_end(
    strict: bool, rows: list[str], want: dict[str, tuple[str, str]], preemptions: str
) -> None:
    """Section 4.9, "lease at the instant of the end"."""
    result = run(lending(strict=strict), rows)

    assert times(result) == want
    assert jobs_of(result)["j1"]["preemptions"] == preemptions
