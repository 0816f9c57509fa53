"""What a previewed place means for others, in sentences: the API's note and the page say the same."""

from django.utils.translation import gettext as _

from berth.common.reasons import amounts_text
from scheduling.control.preview_places import Growth, Place


def stranded_text(place: Place) -> str:
    """What the place breaks, with numbers: `It strands 4 cards on 1 node.`"""
    if not place.broken:
        return _("It breaks no whole node.")
    return _("It strands %(cards)s on %(nodes)s.") % {
        "cards": amounts_text({"gpu": place.stranded_m}),
        "nodes": amounts_text({"nodes": place.broken}),
    }


def growth_text(growth: Growth) -> str:
    """What another queue could still have of its quota beside this place: all of it wanted, and how much of it together."""
    return _(
        "%(queue)s has %(wanted)s of its nominal quota left; of these it would then find %(found)s on one node."
    ) % {
        "queue": growth.queue,
        "wanted": amounts_text({"gpu": growth.wanted_m}),
        "found": amounts_text({"gpu": growth.on_one_node_m}),
    }
