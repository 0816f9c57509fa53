"""Asks that the engine refuses by name: parts of cards above one, and sizes of roles that hold shares of cards (SCH-10, SCH-13)."""

from collections.abc import Sequence

from scheduling.engine.card_modes import is_share
from scheduling.engine.snapshot import Shape
from scheduling.engine.units import CARD


class UnsupportedAsk(ValueError):  # noqa: N818 (an ask, not a failure of ours)
    """A well-formed ask that needs a rule this version lacks. `problems` are (field, code): the field as in docs/api-jobs.md."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{field}: {code}" for field, code in self.problems))


def find_unsupported(shape: Shape) -> tuple[tuple[str, str], ...]:
    """Every (field, code) of the shape that this version cannot plan; empty where all is well."""
    problems = []
    for index, role in enumerate(shape.roles):
        if role.cards_m > CARD and role.cards_m % CARD:
            problems.append((f"roles[{index}].resources.gpu", "fractional-cards"))
        if role.minimum < role.replicas and is_share(role.cards_m):
            problems.append((f"roles[{index}].min_replicas", "elastic-shares"))
    return tuple(problems)


def refuse(shape: Shape) -> None:
    """Raise `UnsupportedAsk` naming every field at once."""
    problems = find_unsupported(shape)
    if problems:
        raise UnsupportedAsk(problems)
