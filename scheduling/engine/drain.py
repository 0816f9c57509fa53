"""Draining queues and pools: preemptible runs are asked to leave, production is left to end by itself (SCH-01)."""

from scheduling.engine.state import State, Victim
from scheduling.engine.tiers import grace_ms
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import PreemptReason, Tier


def drain(state: State) -> None:
    """Give notice to whoever runs in a draining queue or on nodes of a draining pool; nobody gets a second one."""
    snapshot, running = state.snapshot, state.snapshot.running
    queues = {index for index, queue in enumerate(snapshot.queues) if queue.draining}
    pools = {index for index, pool in enumerate(snapshot.pools) if pool.draining}
    if not queues and not pools:
        return
    for run in range(len(running)):
        queue, tier = int(running.queue[run]), int(running.tier[run])
        if queue < 0 or tier == Tier.PRODUCTION or state.leaving_ms[run] < NEVER:
            continue
        on_pool = any(state.table.pool[int(snapshot.pods.node[row])] in pools for row in state.runs.rows(run))
        if queue in queues or on_pool:
            state.evict(Victim(run, None, PreemptReason.DRAIN), state.now_ms + grace_ms(state.policy, tier))
