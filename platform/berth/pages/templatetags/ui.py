"""Components as tags (PAGES section 3): each takes plain values and renders one template of templates/components/."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import template
from django.http import QueryDict
from django.template.context import RequestContext

from berth.common import reasons
from berth.pages import words
from berth.pages.drawing import draw_quota, draw_strip

register = template.Library()

CELL_PX = 14
CELLS_SHOWN = 16


@register.inclusion_tag("components/icon.html")
def icon(name: str) -> dict[str, Any]:
    """A symbol of the sprite; decoration only, so the caller puts the word beside it."""
    return {"name": name}


@register.inclusion_tag("components/state.html")
def state(code: str, kind: str = "job") -> dict[str, Any]:
    """Glyph, word and colour of a job state, run state, end reason or document state."""
    return {"sign": words.sign(kind, code), "code": code}


@register.inclusion_tag("components/tier.html")
def tier(code: str) -> dict[str, Any]:
    return {"code": code, "word": words.TIERS.get(code, code)}


@register.filter
def word(code: str, kind: str = "job") -> Any:
    """The word alone, where a sentence or a menu needs it."""
    if kind == "tier":
        return words.TIERS.get(code, code)
    return words.plain_word(kind, code) if kind in words.WORDS else words.sign(kind, code).word


@register.filter
def word_of_wait(code: str) -> Any:
    """`word:"wait"` where a filter's argument cannot be written (inside blocktranslate)."""
    return words.plain_word("wait", code)


@register.filter
def word_of_preempt(code: str) -> Any:
    return words.plain_word("preempt", code)


@register.filter
def word_of_resize(code: str) -> Any:
    return words.resize_word(code)


@register.filter
def word_of_segment(code: str) -> Any:
    return words.plain_word("segment", code)


@register.filter
def resource_name(key: str) -> Any:
    return words.resource_name(key)


@register.inclusion_tag("components/quota_bar.html")
def quota_bar(line: Any, *, with_words: bool = True) -> dict[str, Any]:
    """A quota line (nominal, own, lent, remaining, borrowed, can_borrow, borrowing_limit, resource) as a bar with its words."""
    limit = None if line.borrowing_limit is None else line.nominal + line.borrowing_limit
    drawing = draw_quota(
        nominal=line.nominal,
        own=line.own,
        lent=line.lent,
        remaining=line.remaining,
        borrowed=line.borrowed,
        can_borrow=line.can_borrow,
        limit=limit,
    )
    return {"line": line, "limit": limit, "drawing": drawing, "with_words": with_words}


@register.inclusion_tag("components/key.html")
def quota_key(kind: str) -> dict[str, Any]:
    """The little swatch that ties a word to its part of the bar."""
    return {"kind": kind}


@register.inclusion_tag("components/strip.html")
def state_strip(stretches: Any) -> dict[str, Any]:
    """(hue, seconds) pairs as one line of states."""
    return {"bars": draw_strip(list(stretches))}


@register.inclusion_tag("components/meter.html")
def busyness(rung: int, held: int, total: int) -> dict[str, Any]:
    """LIM-02's ladder as four boxes, with percentage and words. Amounts in milli-cards."""
    boxes = [(index * 25, f"b-on-{rung}" if index < rung else "") for index in range(4)]
    return {"boxes": boxes, "rung": rung, "held": held, "total": total}


@register.inclusion_tag("components/track.html")
def share_track(part: Decimal | int, whole: Decimal | int) -> dict[str, Any]:
    """A thin bar: part of whole; full where the part is more."""
    return {"width": f"{min(Decimal(100), Decimal(part) * 100 / Decimal(whole)):.2f}%" if part and whole else "0%"}


@register.simple_tag(takes_context=True)
def address_with(context: RequestContext, **changes: Any) -> str:
    """This page's address with some parameters changed; None removes one; a new filter starts at the first page."""
    query = _query(context)
    for key, value in changes.items():
        query.pop(key, None)
        if value is not None:
            query[key] = str(value)
    if "cursor" not in changes:
        query.pop("cursor", None)
    return f"?{query.urlencode()}" if query else "?"


@register.filter
def amounts(mapping: Mapping[str, int]) -> str:
    """Amounts by contract key as people read them: 8 cards (a100-80g), 64 CPU cores."""
    return reasons.amounts_text(mapping)


@register.inclusion_tag("components/card_row.html")
def card_row(cards_m: int) -> dict[str, Any]:
    """Whole cards as a row of cells, sixteen at most; the number beside it is the truth."""
    cells = max(1, min(cards_m // 1000, CELLS_SHOWN))
    return {"cells": [index * CELL_PX for index in range(cells)], "width": CELL_PX * cells}


@register.filter
def wait_sentence(wait: reasons.WaitFacts) -> str:
    return reasons.wait_sentence(wait)


@register.filter
def wait_step(wait: reasons.WaitFacts) -> str:
    return reasons.wait_step(wait)


@register.filter
def meter_unit(meter: str) -> Any:
    """The unit a meter counts in."""
    return words.METER_UNITS.get(meter, "")


@register.filter
def have_word(code: str) -> Any:
    """What `have` is for a wait code: what is left of quota, free, or fits."""
    return words.HAVE.get(code, words.HAVE[""])


@register.filter
def why_not_text(code: str) -> Any:
    """Why no start range can be told."""
    return words.WHY_NOT.get(code) or words.WAITS.get(code, code)


@register.filter
def cause_word(code: str) -> Any:
    """Why a state changed; a code without a word is shown as itself."""
    return words.CAUSES.get(code) or words.PREEMPTS.get(code) or words.END_REASON_WORDS.get(code, code)


@register.filter
def pod_reason(code: str) -> Any:
    """Why a pod ended; a reason without a word is shown as itself."""
    return words.POD_REASONS.get(code, code)


@register.filter
def end_text(code: str, cards_m: int) -> str:
    """Why a job ended and what to do, as one text."""
    return reasons.end_message(code, held={"gpu": cards_m} if cards_m else {})


@register.filter
def item(mapping: Mapping[str, Any], key: str) -> Any:
    """mapping[key] where the key is a variable; None when it is absent."""
    return mapping.get(key)


def _query(context: RequestContext) -> QueryDict:
    query: QueryDict = context["request"].GET.copy()
    return query
