"""Backfill over time: what passes the blocked head, and that the head starts when it was promised."""

from tests.unit.simulator.test_replays import LIMITED, one_pool, run, times


def test_backfill_passes_only_what_ends_before_the_head_can_start() -> None:
    rows = ["j1,a,q,0,100,1,6,100", "j2,a,q,1,100,1,8,100", "j3,a,q,2,90,1,2,98", "j4,a,q,3,90,1,2,120"]

    assert times(run(one_pool(), rows, header=LIMITED)) == {
        "j1": ("0", "100"), "j2": ("100", "200"), "j3": ("2", "92"), "j4": ("200", "290"),
    }  # fmt: skip
