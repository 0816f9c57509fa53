"""Shares of every tree node as printed (docs/simulator.md): keys are `tenant/queue`, `tenant` and cohort names."""

from scheduling.engine.plan import Share
from scheduling.engine.share import over_quota
from scheduling.engine.state import State


def print_shares(state: State) -> dict[str, Share]:
    """At the end of the cycle, its starts counted; in the tree's order."""
    queue_at = {queue.node: f"{queue.tenant}/{queue.name}" for queue in state.snapshot.queues}
    shares = {}
    for index, node in enumerate(state.tree.nodes):
        dominant = state.shares.current(index)
        excess = over_quota(state.quota, index)
        shares[queue_at.get(index, node.name)] = Share(
            drf_numerator=dominant.numerator,
            drf_denominator=dominant.denominator,
            over_quota_permille=excess.permille(),
            dominant=excess.resource or dominant.resource,
            effective_weight_ppm=node.effective_weight_ppm,
        )
    return shares
