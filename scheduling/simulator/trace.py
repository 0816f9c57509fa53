"""A list of jobs to replay, as columns sorted by id; what happens to them is kept elsewhere."""

from dataclasses import dataclass

import numpy as np

from scheduling.engine.snapshot import I8, I32, I64, Shape
from scheduling.engine.units import NEVER


@dataclass(frozen=True, slots=True)
class Trace:
    """Columns over jobs; times in ms from the start of the trace. `duration_ms` and `limit_ms` are NEVER where not given."""

    ids: tuple[str, ...]
    queue: I32
    shape: I32
    tier: I8
    priority: I32
    submit_ms: I64
    duration_ms: I64
    limit_ms: I64
    shapes: tuple[Shape, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def cards_m(self) -> I64:
        """Milli-cards of each whole job."""
        per_shape = [sum(role.replicas * role.cards_m for role in shape.roles) for shape in self.shapes]
        return np.array(per_shape, dtype=np.int64)[self.shape]

    @property
    def endless(self) -> bool:
        """True where no job ever leaves: a placement list."""
        return bool(np.all(self.duration_ms == NEVER)) and len(self) > 0

    def arrivals(self) -> list[int]:
        """Job indexes in the order they arrive: submit time, then id."""
        return [int(i) for i in np.lexsort((np.arange(len(self)), self.submit_ms))]
