"""The test control plane of this process, started when the first test asks for it and gone with the process."""

import atexit
from functools import cache

from testplane.nodes import Group, read
from testplane.plane import Plane

OF_CONTRACT = Group("n", 2, "a100-80g", {"nvidia.com/gpu": 8}, cpu=128, memory_gib=1024, digits=1)
"""The two nodes that the contract tests name."""


@cache
def plane() -> Plane:
    """Raises BuildError or PlaneError: a suite without its control plane has to fail."""
    made = Plane(node_groups=(OF_CONTRACT, *(group for group in read() if group.prefix != "n")))
    made.start()
    atexit.register(made.stop)
    return made
