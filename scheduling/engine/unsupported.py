"""Asks that the engine refuses by name until their rules are in (SCH-10, SCH-13). Submit, `plan` and `simulate` call `refuse`."""

from collections.abc import Sequence

from scheduling.engine.snapshot import Flavor, Shape
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import CardMode

ACCEPTED_MODES = frozenset({CardMode.WHOLE, CardMode.ANY})


class UnsupportedAsk(ValueError):  # noqa: N818 (an ask, not a failure of ours)
    """A well-formed ask that needs a rule this version lacks. `problems` are (field, code): the field as in docs/api-jobs.md."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{field}: {code}" for field, code in self.problems))


def find_unsupported(shape: Shape, flavors: Sequence[Flavor]) -> tuple[tuple[str, str], ...]:
    """Every (field, code) of the shape that this version cannot plan; empty where all is well."""
    problems = []
    for index, role in enumerate(shape.roles):
        if role.cards_m % CARD:
            problems.append((f"roles[{index}].resources.gpu", "fractional-cards"))
        if role.cards_m and any(flavors[flavor].mode not in ACCEPTED_MODES for flavor in role.flavors):
            problems.append((f"roles[{index}].resources.flavors", "card-mode"))
    return tuple(problems)


def refuse(shape: Shape, flavors: Sequence[Flavor]) -> None:
    """Raise `UnsupportedAsk` naming every field at once."""
    problems = find_unsupported(shape, flavors)
    if problems:
        raise UnsupportedAsk(problems)
