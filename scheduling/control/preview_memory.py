"""What the memory of the last run's cards says for the next submit of the same job (SCH-26)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from scheduling.engine.snapshot import Flavor
from scheduling.engine.vocabulary import CardMode
from scheduling.selectors.vram_history import VramUse, last_vram_use
from scheduling.services.judging import Judged

HEADROOM_PPM: Final = 1_100_000
"""Above the peak of one run: the next one's batches are not the same."""
MIB_PER_GIB: Final = 1024
LITTLE_PPM: Final = 500_000
"""A peak below this part of what the run had is worth advice."""


@dataclass(frozen=True, slots=True)
class Memory:
    """`enough_mib` would have been enough, with some headroom, in whole GiB; None where that is not known.

    `flavors` of the queue's pool that have more than the run had (after it ran out), or less and still enough, the smallest first;
    `share_mib` is the cap for a share of a card where the pool has cards to share.
    """

    use: VramUse
    enough_mib: int | None
    flavors: tuple[str, ...] = ()
    share_mib: int | None = None


def judge_memory(judged: Judged) -> Memory | None:
    """None where no earlier run of the tenant's jobs of that name tells anything, or the job asks for no cards."""
    job = judged.job
    if job is None or not any(role.ask.cards_m for role in job.roles):
        return None
    use = last_vram_use(job.queue.tenant_id, job.ask.name)
    if use is None:
        return None
    pool = judged.config.pool_index[job.queue.pool_id]
    return advise(use, [flavor for flavor in judged.config.flavors if flavor.pool == pool])


def advise(use: VramUse, flavors: Iterable[Flavor]) -> Memory:
    """What would serve the job better than what its last run had, among these flavors."""
    known = sorted((flavor.vram_mib, flavor.name, flavor) for flavor in flavors if flavor.vram_mib)
    if use.ran_out:
        return Memory(use, None, tuple(name for vram_mib, name, _ in known if vram_mib > use.had_mib))
    if use.peak_mib is None:
        return Memory(use, None)
    enough_mib = -(-use.peak_mib * HEADROOM_PPM // (1_000_000 * MIB_PER_GIB)) * MIB_PER_GIB
    if use.peak_mib * 1_000_000 >= use.had_mib * LITTLE_PPM:
        return Memory(use, enough_mib)
    smaller = tuple(name for vram_mib, name, _ in known if enough_mib <= vram_mib < use.had_mib)
    shared = any(
        flavor.mode in (CardMode.SHARED, CardMode.ANY) for vram_mib, _, flavor in known if vram_mib > enough_mib
    )
    return Memory(use, enough_mib, smaller, enough_mib if shared else None)
