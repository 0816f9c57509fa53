"""`flavors` and `pools` of a cluster file, and which pool each flavor belongs to."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from berth.common.shown import shown
from berth.common.turns import LEAST_QUANTUM_S, MOST_QUANTUM_S, QUANTUM_S
from scheduling.engine.instances import is_profile
from scheduling.engine.snapshot import Flavor, Pool
from scheduling.engine.units import ONE_PPM
from scheduling.engine.vocabulary import CardMode
from scheduling.simulator import quantities
from scheduling.simulator.cluster import SHARED_POOL
from scheduling.simulator.documents import Fields
from scheduling.simulator.problems import WrongValueError

SUSTAINED = 1000
"""A file shows one moment: the use it shows is taken to have lasted for so many samples (SCH-15)."""


@dataclass(frozen=True, slots=True)
class FlavorEntry:
    """One flavor as written; `pool` is None where the file leaves it to the nodes."""

    name: str
    mode: CardMode
    mig_profile: str
    vram_mib: int
    speed_ppm: int
    weight_ppm: int
    pool: str | None
    price: Decimal | None
    currency: str


def read_flavors(flavors: Fields) -> dict[str, FlavorEntry]:
    """Every flavor by name."""
    found: dict[str, FlavorEntry] = {}
    for name, _ in flavors.named():
        entry = flavors.below(name)
        mode, profile = entry.take("cards", _card_mode, (CardMode.ANY, ""))
        suffix = name.partition("@")[2] or None
        found[name] = FlavorEntry(
            name=name,
            mode=mode,
            mig_profile=profile,
            vram_mib=entry.take("vram_gib", quantities.mebibytes, 0),
            speed_ppm=entry.take("speed", _positive_ppm, ONE_PPM),
            weight_ppm=entry.take("weight", quantities.ppm, ONE_PPM),
            pool=entry.take("pool", quantities.word, suffix),
            price=entry.take("price_per_card_hour", quantities.decimal, None),
            currency=entry.take("currency", quantities.word, ""),
        )
        entry.ignore("resource_name")
        entry.close()
    return found


def _card_mode(text: str) -> tuple[CardMode, str]:
    name, _, profile = text.partition(":")
    if name == "mig" and is_profile(profile):
        return CardMode.MIG, profile
    if name == "mig" and profile:
        raise WrongValueError(f"must name a MIG profile such as mig:1g.10gb, is {shown(text)}")
    if name in {mode.value for mode in CardMode if mode is not CardMode.MIG} and not profile:
        return CardMode(name), ""
    raise WrongValueError(f"must be whole, shared, mig:PROFILE, any or none, is {shown(text)}")


def _positive_ppm(text: str) -> int:
    value = quantities.ppm(text)
    if value == 0:
        raise WrongValueError("must be above 0, is 0")
    return value


def _quantum_ms(text: str) -> int:
    return quantities.whole(text, low=LEAST_QUANTUM_S, high=MOST_QUANTUM_S) * quantities.MS_PER_S


def read_pools(pools: Fields) -> dict[str, Pool]:
    """Pools with their over-commit factor and watermarks; pools that are only used by name need no entry."""
    found: dict[str, Pool] = {}
    for name, _ in pools.named():
        entry = pools.below(name)
        pool = Pool(
            id=name,
            name=name,
            factor_ppm=entry.take("factor", quantities.ppm, ONE_PPM),
            high_ppm=entry.take("high", quantities.fraction_ppm, 850_000),
            low_ppm=entry.take("low", quantities.fraction_ppm, 750_000),
            priority_share_ppm=entry.take("priority_share", quantities.fraction_ppm, 0),
            samples_above=entry.take("samples", quantities.between(0, 1000), SUSTAINED),
            time_sharing=entry.take("time_sharing", quantities.flag, False),
            quantum_ms=entry.take("quantum_s", _quantum_ms, QUANTUM_S * quantities.MS_PER_S),
        )
        if pool.factor_ppm < ONE_PPM:
            entry.problem("factor", "must be 1 or more")
        if pool.low_ppm > pool.high_ppm:
            entry.problem("low", "must not be above high")
        entry.close()
        found[name] = pool
    return found


def settle_pools(entries: dict[str, FlavorEntry], used: Iterable[tuple[str, str | None]]) -> dict[str, FlavorEntry]:
    """Flavors with their pool decided; `used` are (flavor, pool or None) of the nodes.

    A flavor without a pool belongs to the one pool its nodes are in. Where its nodes are in several, it stays with the shared
    pool (else the first by name), and every other pool has a flavor `name@pool` of the same kind.
    """
    pools_of: dict[str, set[str]] = {name: set() for name in entries}
    for flavor, pool in used:
        if flavor in pools_of:
            pools_of[flavor].add(pool or entries[flavor].pool or SHARED_POOL)
    settled = dict(entries)
    for name, entry in entries.items():
        pools = sorted(pools_of[name])
        home = entry.pool or (pools[0] if pools and SHARED_POOL not in pools else SHARED_POOL)
        settled[name] = replace(entry, pool=home)
        for pool in pools:
            other = f"{name}@{pool}"
            if pool != home and other not in settled:
                settled[other] = replace(entry, name=other, pool=pool)
    return settled


def build_flavors(entries: dict[str, FlavorEntry], pools: dict[str, int]) -> tuple[Flavor, ...]:
    """Engine flavors sorted by name; `pools` is name -> index."""
    return tuple(
        Flavor(
            id=name,
            name=name,
            pool=pools[entry.pool or SHARED_POOL],
            mode=entry.mode,
            mig_profile=entry.mig_profile,
            vram_mib=entry.vram_mib,
            speed_ppm=entry.speed_ppm,
            weight_ppm=entry.weight_ppm,
            price=entry.price,
            currency=entry.currency,
        )
        for name, entry in sorted(entries.items())
    )
