"""SCH-27: how long a turn on the cards may be, alike at every door."""

from typing import Final

QUANTUM_S: Final = 1800
LEAST_QUANTUM_S: Final = 60
MOST_QUANTUM_S: Final = 86_400
