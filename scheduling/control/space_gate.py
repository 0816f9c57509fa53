"""No run is sent to a namespace that cannot take it yet: its quota has to count as asked, and Berth has to have its rights in it."""

from dataclasses import dataclass, field, replace

from berth.common import clock
from scheduling.cluster.port import ClusterPort, ResultKind, WriteResult

REMEMBERED_S = 60.0
"""How long a namespace that was ready is taken to be so; a refusal by the cluster tells sooner."""
SETTLING_S = 5.0
"""How long a namespace may be only just being set up; after that it is not ready."""
MOST_REMEMBERED = 10_000


@dataclass(slots=True)
class SpaceGate:
    """One process's memory of which namespaces were ready. Safe to use from several threads: at worst one is asked for twice."""

    _ready: dict[tuple[str, str], float] = field(default_factory=dict)
    _settling: dict[tuple[str, str], float] = field(default_factory=dict)

    def problem(self, port: ClusterPort, namespace: str, *, timeout_s: float) -> WriteResult | None:
        """None where runs may be sent. Else the refusal, whose message says what is lacking and whose `retry_after_s` is set while it is
        only just being set up: the run is better left as it is for now. UNREACHABLE where nothing was learnt."""
        spaces, key, now = port.spaces, (port.name, namespace), clock.monotonic()
        if spaces is None or self._ready.get(key, 0.0) > now:
            return None
        answer = spaces.check_space(namespace, timeout_s=timeout_s)
        if answer.kind is ResultKind.ACCEPTED:
            self._remember(key, now)
            return None
        self._ready.pop(key, None)
        if answer.retry_after_s is not None and now - self._settling.setdefault(key, now) > SETTLING_S:
            return replace(answer, retry_after_s=None)
        return answer

    def _remember(self, key: tuple[str, str], now: float) -> None:
        if len(self._ready) >= MOST_REMEMBERED:
            self._ready.clear()
        self._ready[key] = now + REMEMBERED_S
        self._settling.pop(key, None)

    def forget(self, cluster: str, namespace: str) -> None:
        """Ask again next time: the namespace refused a run."""
        self._ready.pop((cluster, namespace), None)
