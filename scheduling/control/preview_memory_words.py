"""SCH-26 in sentences: the API and the page say the same."""

from django.utils.translation import gettext as _

from berth.common.units import MIB_PER_GIB
from scheduling.control.preview_memory import Memory


def memory_text(memory: Memory) -> str:
    """`The last run of this job (j12, r1) had 80 GiB a card and used 31 GiB at most.`"""
    use = memory.use
    told = {
        "run": f"j{use.job}, r{use.run}",
        "had": _gib(use.had_mib),
        "peak": "" if use.peak_mib is None else _gib(use.peak_mib),
    }
    if use.ran_out and use.peak_mib is not None:
        return _("The last run of this job (%(run)s) ran out of card memory at %(peak)s of %(had)s GiB.") % told
    if use.ran_out:
        return _("The last run of this job (%(run)s) ran out of its %(had)s GiB of card memory.") % told
    return _("The last run of this job (%(run)s) had %(had)s GiB a card and used %(peak)s GiB at most.") % told


def memory_step(memory: Memory) -> str:
    """What to ask for instead; empty where nothing is better."""
    names = ", ".join(memory.flavors)
    if memory.use.ran_out:
        if names:
            return _("Ask for cards with more memory (%(flavors)s), or make the batch smaller.") % {"flavors": names}
        return _("No cards of this pool have more memory: make the batch smaller or split the model over more cards.")
    if memory.enough_mib is None or not (names or memory.share_mib):
        return ""
    told = {"enough": _gib(memory.enough_mib), "flavors": names}
    if names and memory.share_mib:
        return _("%(enough)s GiB would do: cards of %(flavors)s, or a share of a card with that cap.") % told
    if names:
        return _("%(enough)s GiB would do: cards of %(flavors)s.") % told
    return _("%(enough)s GiB would do: a share of a card with that cap.") % told


def _gib(mib: int) -> str:
    return f"{mib / MIB_PER_GIB:.0f}"
