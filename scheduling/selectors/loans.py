"""Loans in force as both sides read them: how much, since when, until when, for which job; names only inside one cohort (SCH-16, SCH-21)."""

from dataclasses import dataclass
from datetime import datetime

from scheduling.models import Job, Loan, LoanSide
from scheduling.selectors.quota_lines import cohort_members
from tenants.models import Tenant, User
from tenants.scoping import sees_everything


@dataclass(frozen=True, slots=True)
class Party:
    """The other side. An empty name is a tenant outside the reader's cohort, or a cohort's own pool."""

    name: str
    amount_m: int


@dataclass(frozen=True, slots=True)
class LoanRow:
    """Milli-cards of one flavor. `job` is set on the borrower's side only."""

    amount_m: int
    flavor: str
    opened_at: datetime
    expires_at: datetime
    renewals: int
    parties: tuple[Party, ...]
    job: Job | None = None


def borrowed_by(tenant: Tenant, reader: User) -> list[LoanRow]:
    """What the tenant's running jobs borrow, the soonest to end first."""
    known = cohort_members(tenant)
    everything = sees_everything(reader)
    loans = (
        Loan.objects.filter(queue__tenant=tenant, ended_at__isnull=True)
        .select_related("flavor", "run__job")
        .prefetch_related("sides__tenant", "sides__cohort")
        .order_by("expires_at", "id")
    )
    return [
        LoanRow(
            amount_m=loan.amount_m,
            flavor=loan.flavor.name,
            opened_at=loan.opened_at,
            expires_at=loan.expires_at,
            renewals=loan.renewals,
            parties=tuple(Party(_name(side, known, everything=everything), side.amount_m) for side in loan.sides.all()),
            job=loan.run.job,
        )
        for loan in loans
    ]


def lent_by(tenant: Tenant, reader: User) -> list[LoanRow]:
    """What others hold of the tenant's quota, the soonest to end first. The lender gets it back within the borrower's grace."""
    known = cohort_members(tenant)
    everything = sees_everything(reader)
    sides = (
        LoanSide.objects.filter(tenant=tenant, loan__ended_at__isnull=True)
        .select_related("loan__flavor", "loan__queue__tenant")
        .order_by("loan__expires_at", "loan_id", "id")
    )
    return [
        LoanRow(
            amount_m=side.amount_m,
            flavor=side.loan.flavor.name,
            opened_at=side.loan.opened_at,
            expires_at=side.loan.expires_at,
            renewals=side.loan.renewals,
            parties=(Party(_borrower(side, known, everything=everything), side.amount_m),),
        )
        for side in sides
    ]


def _name(side: LoanSide, known: frozenset[int], *, everything: bool) -> str:
    if side.tenant is not None and (everything or side.tenant_id in known):
        return side.tenant.slug
    return side.cohort.name if side.cohort is not None else ""


def _borrower(side: LoanSide, known: frozenset[int], *, everything: bool) -> str:
    borrower = side.loan.queue.tenant
    return borrower.slug if everything or borrower.pk in known else ""
