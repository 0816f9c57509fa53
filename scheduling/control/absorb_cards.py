"""Bad cards of nodes that are ready: they go out of service and take with them who holds them; the rest of the node goes on.

A card is bad because it was named, or because its device plugin counts fewer than there are and cannot say which. Then as many free cards
go out as are missing, and nobody is stopped: no running job is known to hold one. Where too few are free some job does hold one, and
everybody on the node is placed anew. A plugin that gives out none at all is most likely restarting: nothing starts, nobody is stopped.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from django.db.models import QuerySet

from scheduling.control.observed import SeenNode
from scheduling.models import Card, Lease, Node
from scheduling.services.telling import tell_card_failed
from scheduling.states import EndReason
from scheduling.transitions import CANCEL_GRACE, Cause, begin_stops

NAMED, COUNTED = Card.Evidence.NAMED.value, Card.Evidence.COUNTED.value


def absorb_cards(node: Node, seen: SeenNode, *, now: datetime, epoch: int) -> tuple[bool, list[int]]:
    """Bring the node's cards to what was seen of them. Returns whether anything changed, and the runs that were asked to stop."""
    cards = list(Card.objects.filter(node=node).order_by("index"))
    named = {card.pk for card in cards if card.index in seen.bad_cards}
    held = set(_leases(card.pk for card in cards).values_list("card_id", flat=True))
    counted, is_certain = _choose(cards, named, held, seen.cards_short)
    changed = _bring_back(cards, named | counted)
    out = [card for card in cards if card.health == Card.Health.OK and card.pk in named | counted]
    for evidence, group in ((NAMED, named), (COUNTED, counted)):
        Card.objects.filter(pk__in=group).exclude(failed_by=evidence).update(failed_by=evidence)
    Card.objects.filter(pk__in=[card.pk for card in out]).update(health=Card.Health.FAILED, failed_at=now)
    suspects = {card.pk for card in cards} if is_certain else {card.pk for card in out if card.pk in named}
    stopped = _stop_holders(node, out, suspects, now=now, epoch=epoch)
    return changed or bool(out), stopped


def _choose(cards: Sequence[Card], named: set[int], held: set[int], short: int) -> tuple[set[int], bool]:
    """Which cards stand for those that are missing without a name, and whether somebody is certain to hold one of them.

    Those chosen before come first, then free ones, then held ones, each from the highest index.
    """
    if short <= 0:
        return set(), False
    left = [card for card in reversed(cards) if card.pk not in named]
    left.sort(key=lambda card: (card.failed_by != COUNTED, card.pk in held))
    chosen = left[:short]
    new = [card for card in chosen if card.health == Card.Health.OK]
    none_is_given_out = len(left) <= short
    is_certain = any(card.pk in held for card in new) and not none_is_given_out
    return {card.pk for card in chosen}, is_certain


def _bring_back(cards: Sequence[Card], bad: Collection[int]) -> bool:
    back = [card.pk for card in cards if card.health == Card.Health.FAILED and card.pk not in bad]
    return bool(Card.objects.filter(pk__in=back).update(health=Card.Health.OK, failed_at=None, failed_by=""))


def _stop_holders(node: Node, out: Sequence[Card], suspects: set[int], *, now: datetime, epoch: int) -> list[int]:
    runs = sorted(set(_leases(suspects).exclude(pod__released_at__isnull=False).values_list("run_id", flat=True)))
    if not runs:
        return []
    names = ", ".join(f"{node.name}/{card.index}" for card in out)
    cause = Cause(reason=EndReason.CARD_FAILED.value, at=now, message=names, epoch=epoch)
    stopped = begin_stops(runs, stop_reason=EndReason.CARD_FAILED, grace=CANCEL_GRACE, cause=cause)
    tell_card_failed(stopped, cards=names)
    return stopped


def _leases(cards: Iterable[int]) -> QuerySet[Lease]:
    return Lease.objects.filter(card_id__in=list(cards), closed_at__isnull=True)
