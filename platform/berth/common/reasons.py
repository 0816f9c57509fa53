"""The one registry of reasons: code -> texts in both languages (SCH-21).

Every reason names a resource, a number and a step (PAGES, principle 3). It decides nothing: codes and numbers come from elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from berth.common.units import from_milli, mib_to_gib

Amounts = Mapping[str, int]
"""Resource key of docs/api-jobs.md -> milli-cards, millicores, MiB or nodes."""


@dataclass(frozen=True, slots=True)
class Reason:
    """`text` says what is so, with resource and number; `step` what to do about it. Places: need, have, short, detail, until."""

    text: str | Promise
    step: str | Promise


class WaitFacts(Protocol):
    """What a wait message is made of (the engine's `Wait`, or a stored wait reason with the same fields)."""

    @property
    def code(self) -> str: ...
    @property
    def need(self) -> Amounts: ...
    @property
    def have(self) -> Amounts: ...
    @property
    def short(self) -> Amounts: ...
    @property
    def suggestion(self) -> str: ...
    @property
    def hint(self) -> Amounts: ...
    @property
    def detail(self) -> str: ...
    @property
    def reserved_start_ms(self) -> int | None: ...


WAITS: Final[Mapping[str, Reason]] = {
    "suspended": Reason(
        _("Parked by a user; it asks for %(need)s."),
        _("Resume it to put it back in line."),
    ),
    "not-before": Reason(
        _("Asks not to start before %(until)s; it will need %(need)s."),
        _("Nothing to do until then; clone it without a start time to start earlier."),
    ),
    "dependency": Reason(
        _("Waits for another job to end first; it will need %(need)s."),
        _("Nothing to do until that job ends; cancel and clone it without the dependency to start earlier."),
    ),
    "array-limit": Reason(
        _("As many members of its array run as the array allows; this one needs %(need)s."),
        _("Nothing to do until one ends; raise the array's limit to run more at once."),
    ),
    "budget": Reason(
        _("The tenant's budget does not cover %(need)s any more."),
        _("Ask the tenant admin or finance to raise the budget, or wait for the next period."),
    ),
    "backoff": Reason(
        _("The last start failed; the next try for %(need)s is at %(until)s. %(detail)s"),
        _("Nothing to do; look at the job's events for the cause if it happens again."),
    ),
    "maintenance": Reason(
        _("Its pool is in maintenance and starts nothing now; it needs %(need)s."),
        _("Nothing to do until the window ends, or submit to a queue of another pool."),
    ),
    "cluster-unreachable": Reason(
        _("The cluster cannot be reached, so nothing starts; it needs %(need)s."),
        _("Nothing to do; it starts by itself when the cluster answers again."),
    ),
    "node-lost": Reason(
        _("A node of its run was lost; a new place for %(need)s is looked for."),
        _("Nothing to do; it keeps its place in line and starts again from its last checkpoint."),
    ),
    "impossible": Reason(
        _("Can never start as it is. Asked: %(need)s; the most that can ever be had: %(have)s. %(detail)s"),
        _("Cancel it and submit it again with less, or ask a platform admin for a larger quota or another node shape."),
    ),
    "planner-fault": Reason(
        _("The planner failed on this job three times, so it is left out; it needs %(need)s."),
        _("A platform admin has been told; nothing to do, or clone it in a simpler form."),
    ),
    "kept-for-preempted": Reason(
        _("Its place is being cleared: %(need)s are kept for it until the jobs there have left."),
        _("Nothing to do; it starts when they have left."),
    ),
    "quota-nominal": Reason(
        _(
            "It would need quota, not cards. Asked: %(need)s; left of the tenant's nominal quota: %(have)s; short: %(short)s."
        ),
        _("Wait for the tenant's own jobs to end, ask for more quota, or submit as development to borrow."),
    ),
    "quota-borrow-limit": Reason(
        _("Nothing more can be borrowed. Asked: %(need)s; can still be had: %(have)s; short: %(short)s."),
        _("Wait until the tenant's jobs or the lenders' jobs end, or ask for more quota."),
    ),
    "cards-busy": Reason(
        _("Too few cards are free. Asked: %(need)s; free: %(have)s; short: %(short)s."),
        _("Nothing to do; it starts when enough are free. Fewer cards or another flavor may start sooner."),
    ),
    "cpu-busy": Reason(
        _("Too little CPU is free. Asked: %(need)s; free: %(have)s; short: %(short)s."),
        _("Nothing to do; it starts when enough is free. A smaller CPU request may start sooner."),
    ),
    "memory-busy": Reason(
        _("Too little memory is free. Asked: %(need)s; free: %(have)s; short: %(short)s."),
        _("Nothing to do; it starts when enough is free. A smaller memory request may start sooner."),
    ),
    "fragmented": Reason(
        _(
            "Enough is free in total, but not on single nodes. Asked: %(need)s; can be placed: %(have)s; short: %(short)s."
        ),
        _("Nothing to do until a node is free enough; smaller pods may start sooner."),
    ),
    "topology": Reason(
        _("No single domain has room. Asked together: %(need)s; most in one: %(have)s; short: %(short)s."),
        _("Wait for a domain to clear, or clone it with a preferred instead of a required topology."),
    ),
    "reserved": Reason(
        _(
            "It would fit, but what it needs (%(need)s) is reserved for earlier jobs, "
            "and it would not be gone before they start."
        ),
        _("Nothing to do: those whose places are kept start first, then it moves up."),
    ),
    "fair-share": Reason(
        _("It fits (%(need)s), but others with a smaller share go first."),
        _("Nothing to do; it moves up as the others start."),
    ),
}

PARTS_OF_CARDS: Final[Mapping[str, str | Promise]] = {
    "card-part": _(
        "No single card has that much left. Asked of one card: %(need)s; the largest free part of one card: %(have)s; "
        "short: %(short)s."
    ),
    "card-part-memory": _(
        "No card with room for the share has that much card memory left. Asked: %(need)s; "
        "the most free on one card: %(have)s; short: %(short)s."
    ),
}
"""What is so where a share of a card waits (SCH-13), by the wait's detail: free parts of several cards are no room for it."""

PREEMPTS: Final[Mapping[str, Reason]] = {
    "drain": Reason(
        _("Its node is being emptied; %(held)s given back."),
        _("Nothing to do; it is queued again with its place in line."),
    ),
    "watermark": Reason(
        _("The over-committed pool passed its high mark; %(held)s given back."),
        _("Nothing to do; it is queued again and goes on from its checkpoint."),
    ),
    "yield": Reason(
        _("A batch job yields what it holds: %(held)s given back."),
        _("Nothing to do; it starts again on what is idle. Submit as development to be kept longer."),
    ),
    "loan-expired": Reason(
        _("Its loan ended and the lender has work for it: %(held)s given back."),
        _("Nothing to do; it is queued again with its place in line."),
    ),
    "reclaim-nominal": Reason(
        _("The owner of the quota needs it back: %(held)s given back."),
        _("Nothing to do; it is queued again with its place in line. Stay inside nominal quota to be safe from this."),
    ),
    "priority": Reason(
        _("A job of higher priority in the same queue needs the place: %(held)s given back."),
        _("Nothing to do; it is queued again. A tenant admin can raise its priority."),
    ),
    "fair-share": Reason(
        _("Its queue borrowed more than its share: %(held)s given back."),
        _("Nothing to do; it is queued again with its place in line."),
    ),
    "time-share": Reason(
        _("Its turn on the cards is over: %(held)s given back."),
        _("Nothing to do; it takes turns and goes on from its checkpoint."),
    ),
}

RESIZES: Final[Mapping[str, str | Promise]] = {
    "idle-cards": _("It grew onto cards that no waiting job could use."),
    "asked-for": _("The run asked for that size with its token."),
    "node-lost": _("The node was lost before a new pod ran on it; the job goes on without that pod."),
    "start-timeout": _("A new pod did not run in time; the job goes on without it."),
    "platform-fault": _("A new pod was not taken in by its node or its cluster; the job goes on without it."),
}
"""Why a running job changed its size (SCH-10), beside the reasons to preempt, which make a job smaller before anybody has to leave."""

ENDS: Final[Mapping[str, Reason]] = {
    "succeeded": Reason(_("Every pod ended well; %(held)s given back."), _("Nothing to do.")),
    "failed": Reason(
        _("A pod ended with an error; %(held)s given back."), _("Read the logs of the failed rank, then clone the job.")
    ),
    "oom": Reason(
        _("A pod ran out of its memory limit; %(held)s given back."),
        _("Clone the job with more memory for the role."),
    ),
    "gpu-oom": Reason(
        _("A card ran out of memory; %(held)s given back."),
        _("Clone the job with a smaller batch or on cards with more memory."),
    ),
    "cancelled": Reason(
        _("A user cancelled it; %(held)s given back."), _("Nothing to do; clone the job to run it again.")
    ),
    "timeout": Reason(
        _("It reached its declared run time; %(held)s given back."),
        _("Clone the job with a longer run time; it goes on from its checkpoint."),
    ),
    "preempted": Reason(
        _("It was stopped for another job; %(held)s given back."), _("Nothing to do; it is queued again.")
    ),
    "node-lost": Reason(_("One of its nodes was lost; %(held)s given back."), _("Nothing to do; it is queued again.")),
    "card-failed": Reason(_("One of its cards failed; %(held)s given back."), _("Nothing to do; it is queued again.")),
    "image-pull": Reason(
        _("An image could not be fetched; %(held)s given back."),
        _("Check the image's name and the tenant's registry secret, then clone the job."),
    ),
    "start-timeout": Reason(
        _("Not every pod came up in time; %(held)s given back."),
        _("Nothing to do; it tries again. Look at its events if it happens again."),
    ),
    "evicted": Reason(
        _("The node evicted a pod that passed its limits; %(held)s given back."),
        _("Clone the job with higher limits for the role."),
    ),
    "platform-fault": Reason(
        _("The platform is at fault; %(held)s given back, and charged no longer than it ran."),
        _("Nothing to do; it is queued again and a platform admin has been told."),
    ),
}

SUGGESTIONS: Final[Mapping[str, str | Promise]] = {
    "wait": _("Nothing to do: wait for %(hint)s to be given back."),
    "ask-quota": _("Ask for %(hint)s more quota."),
    "borrow": _("Submit it as development: it may then borrow %(hint)s."),
    "fewer-cards": _("Ask for less: %(hint)s would start now."),
    "smaller-pods": _("Split it over smaller pods: at most %(hint)s are free on one node."),
    "other-flavor": _("Accept another flavor: %(hint)s are free there."),
    "relax-topology": _("Prefer the topology instead of requiring it: %(hint)s are free over several domains."),
    "declare-runtime": _(
        "Clone it with a longest run that ends before %(hint)s, when the first of them starts: it may then pass."
    ),
    "take-turn": _("Nothing to do: jobs of this pool take turns, and its own comes at %(hint)s at the earliest."),
    "less-cpu": _("Ask for less CPU or memory: %(hint)s are free."),
    "raise-budget": _("Ask for a larger budget for %(hint)s."),
    "resume": _("Resume it; it asks for %(hint)s."),
    "resubmit": _("Cancel it and submit it again with at most %(hint)s."),
    "ask-admin": _("Tell a platform admin that %(hint)s cannot be served."),
}


DETAILS: Final[Mapping[str, str | Promise]] = {
    "unknown-queue": _("There is no such queue."),
    "queue-closed": _("The queue is closed or being emptied."),
    "unsupported": _("It asks for something that this version cannot place yet."),
    "flavor": _("No flavor of the queue's pool can serve it."),
    "card-mode": _("No flavor that it names hands out cards that way: whole, in shares, or as MIG instances."),
    "mig-ranks": _("MIG instances do not talk to each other: a role of more than one pod cannot run on them."),
    "card-part": _("A share has to fit on one card."),
    "card-part-memory": _("A share's card memory has to be free on the same card."),
    "quota": _("The quota that the queue could have at most is the limit."),
    "node-shape": _("No node is large enough for one of its pods."),
    "cards": _("All nodes together have too few places for its pods."),
    "topology": _("No single domain is large enough for all of its pods."),
    "idle-cards": _("Cards are idle, but production may use its tenant's own quota only."),
    "idle-penalty": _("The queue left cards that it held idle; until its use improves it may borrow less."),
    "watermark": _("The pool is used above its high watermark, or was just now: over-committed work waits."),
    "reservation": _("Cards are kept for others by a reservation while its window lasts."),
    "priority-share": _("The pool keeps a part of its cards for priority tenants."),
    "max-pool-share": _("The queue may hold only a part of its pool at a time."),
    "nodes-closed": _("Nodes that take no jobs now, cordoned or not ready, are needed for it."),
    "beside-cards": _("What is free is kept for jobs with cards: idle cards need CPU and memory beside them."),
}
"""What a wait's detail means where it is a code; any other detail is the cluster's or a person's own words."""


def wait_message(wait: WaitFacts) -> str:
    """Why a job waits, in the active language: what is so with numbers, then the step."""
    return f"{wait_sentence(wait)} {wait_step(wait)}"


def wait_sentence(wait: WaitFacts) -> str:
    """What is so, with resource and number."""
    until = _instant(wait.reserved_start_ms) or wait.detail or str(_("a later time"))
    places = {
        "need": amounts_text(wait.need) or str(_("what it asks for")),
        "have": amounts_text(wait.have) or str(_("nothing")),
        "short": amounts_text(wait.short) or amounts_text(wait.need) or str(_("nothing")),
        "detail": str(DETAILS.get(wait.detail, wait.detail)),
        "until": until,
    }
    text = PARTS_OF_CARDS.get(wait.detail, WAITS[wait.code].text)
    return " ".join((str(text) % places).split())


def wait_step(wait: WaitFacts) -> str:
    """What to do about it, or that nothing is to be done."""
    if wait.suggestion in SUGGESTIONS:
        return suggestion_message(wait.suggestion, wait.hint)
    return str(WAITS[wait.code].step)


def preempt_message(code: str, *, held: Amounts) -> str:
    """Why a run was stopped, for the people whose run it was; `held` is what it gives back."""
    return _with_held(PREEMPTS[code], held)


def end_message(code: str, *, held: Amounts) -> str:
    """Why a run ended; `held` is what it gave back."""
    return _with_held(ENDS[code], held)


def suggestion_message(code: str, hint: Amounts) -> str:
    """What would help, with its number."""
    return str(SUGGESTIONS[code]) % {"hint": amounts_text(hint) or str(_("what it asks for"))}


def amounts_text(amounts: Amounts) -> str:
    """Amounts as people read them: `8 cards (a100-80g), 64 CPU cores`. Empty where there is nothing to say.

    A total `gpu` is left out where its flavors are named.
    """
    named = any(key.startswith("gpu:") for key in amounts)
    parts = [_amount(key, amounts[key]) for key in sorted(amounts, key=_rank) if not (named and key == "gpu")]
    return str(_(", ")).join(parts)


_ORDER: Final = ("gpu", "cpu", "memory_gib", "vram_gib", "nodes", "before")


def _rank(key: str) -> tuple[int, str]:
    return _ORDER.index(key.partition(":")[0]), key


def _amount(key: str, value: int) -> str:
    resource, _colon, flavor = key.partition(":")
    match resource:
        case "gpu":
            count = from_milli(value)
            text = ngettext("%(count)s card", "%(count)s cards", 1 if count == 1 else 2) % {"count": count}
            return f"{text} ({flavor})" if flavor else text
        case "cpu":
            count = from_milli(value)
            return ngettext("%(count)s CPU core", "%(count)s CPU cores", 1 if count == 1 else 2) % {"count": count}
        case "memory_gib":
            return str(_("%(count)s GiB memory")) % {"count": mib_to_gib(value)}
        case "vram_gib":
            return str(_("%(count)s GiB card memory")) % {"count": mib_to_gib(value)}
        case "before":
            return _instant(value)
    return ngettext("%(count)s node", "%(count)s nodes", value) % {"count": value}


def _instant(at_ms: int | None) -> str:
    """In the zone of whoever reads: pages activate their reader's, everything else is UTC and says so."""
    if at_ms is None:
        return ""
    zone = timezone.get_current_timezone()
    at = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone)
    return at.strftime("%Y-%m-%d %H:%M UTC" if str(zone) == "UTC" else "%Y-%m-%d %H:%M")


def _with_held(reason: Reason, held: Amounts) -> str:
    text = str(reason.text) % {"held": amounts_text(held) or str(_("what it held"))}
    return f"{text} {reason.step}"
