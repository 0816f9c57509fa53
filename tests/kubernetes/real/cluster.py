"""The real nodes of this process, started when the first test asks for them and gone after the last one, or with the process."""

import atexit
from functools import cache

from testplane.real.cluster import RealCluster


@cache
def cluster() -> RealCluster:
    """Raises BuildError or PlaneError: where their tests are run, real nodes that do not come up are a failure."""
    made = RealCluster()
    made.start()
    atexit.register(stop)
    return made


def stop() -> None:
    """Whoever asks for them after this starts them again."""
    if cluster.cache_info().currsize:
        cluster().stop()
        cluster.cache_clear()
