"""The launcher brings real PostgreSQL and Valkey, keeps data, and leaves nobody behind however it ends."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from tests.integration.launcher_rig import (
    SLEEPER,
    Checkout,
    an_ordinary_user,
    checkout,
    read_line,
    remove_area,
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Checkout]:
    place = checkout(tmp_path / "checkout")
    yield place
    remove_area(place)


def borrowed(*code: str) -> list[str]:
    return ["with-services", "trial", "--", sys.executable, "-c", *code]


def test_a_command_gets_both_services_and_its_exit_code_comes_back(place: Checkout) -> None:
    code = (
        "import os, psycopg, redis, sys;"
        "psycopg.connect(os.environ['DATABASE_URL']).execute('select 1');"
        "redis.Redis.from_url(os.environ['REDIS_URL']).ping();"
        "sys.exit(7)"
    )

    done = place.run(*borrowed(code))

    assert (done.returncode, done.stderr) == (7, "")
    assert place.processes() == []


def test_data_stays_from_one_start_to_the_next(place: Checkout) -> None:
    with place.started(*borrowed(SLEEPER)) as launcher:
        url, _ = read_line(launcher).split()
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE kept (id integer)")
        launcher.send_signal(signal.SIGTERM)
        launcher.wait(30)

    done = place.run(*borrowed("import os, psycopg; psycopg.connect(os.environ['DATABASE_URL']).execute('TABLE kept')"))

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("below", [{}, {"MAKELEVEL": "1"}], ids=["by itself", "below make"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_command_and_both_services(
    place: Checkout, sent: signal.Signals, below: dict[str, str]
) -> None:
    with place.started(*borrowed(SLEEPER), **below) as launcher:
        read_line(launcher)

        launcher.send_signal(sent)
        _, errors = launcher.communicate(timeout=90)

    assert launcher.returncode == 130
    assert "berth" not in errors
    assert place.processes() == []


def test_a_killed_launcher_leaves_no_service_and_the_next_start_works_at_once(place: Checkout) -> None:
    with place.started(*borrowed(SLEEPER)) as launcher:
        read_line(launcher)
        assert len(place.processes()) >= 2
        launcher.kill()
        launcher.wait()

        done = place.run(*borrowed("import os, psycopg; psycopg.connect(os.environ['DATABASE_URL'])"))

    assert (done.returncode, done.stderr) == (0, "")


def test_a_half_made_database_of_a_killed_launcher_is_made_anew(place: Checkout) -> None:
    place.run(*borrowed("pass"))
    made = place.data() / "trial" / "pg"
    made.rename(made.with_name("pg.new"))

    done = place.run(*borrowed("import os, psycopg; psycopg.connect(os.environ['DATABASE_URL'])"))

    assert (done.returncode, done.stderr) == (0, "")
    assert [entry.name for entry in made.parent.glob("pg*")] == ["pg"]


def test_a_second_launcher_for_the_same_purpose_is_refused_in_one_line(place: Checkout) -> None:
    with place.started(*borrowed(SLEEPER)) as launcher:
        read_line(launcher)

        second = place.run(*borrowed("pass"))

    assert second.returncode == 1
    assert second.stderr == f"berth: make trial is already running in this checkout (process {launcher.pid})\n"


def test_named_services_are_used_and_none_is_started(place: Checkout) -> None:
    named = {name: os.environ[name] for name in ("DATABASE_URL", "REDIS_URL")}

    with place.started(*borrowed(SLEEPER), **named) as launcher:
        told = read_line(launcher)
        started = place.processes()

    assert told.split() == [named["DATABASE_URL"], named["REDIS_URL"]]
    assert started == []


def test_each_service_is_switched_off_by_its_own_variable(place: Checkout) -> None:
    with place.started(*borrowed(SLEEPER), DATABASE_URL=os.environ["DATABASE_URL"]) as launcher:
        database, valkey = read_line(launcher).split()
        redis.Redis.from_url(valkey).ping()
        started = " ".join(place.processes())

    assert database == os.environ["DATABASE_URL"]
    assert "valkey" in started
    assert "bin/postgres" not in started


def test_nobody_without_the_password_gets_into_the_services(place: Checkout) -> None:
    with place.started(*borrowed(SLEEPER)) as launcher:
        database, valkey = read_line(launcher).split()
        stranger_sql = database.replace(database.split("@")[0], "postgresql://postgres")
        stranger_valkey = redis.Redis.from_url(f"redis://{valkey.split('@')[1]}")

        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(stranger_sql)
        with pytest.raises(redis.AuthenticationError):
            stranger_valkey.ping()


def test_it_works_in_a_folder_that_only_its_owner_may_enter(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    place = checkout(tmp_path / "home" / "checkout")
    try:
        done = place.run(*borrowed("import os, psycopg; psycopg.connect(os.environ['DATABASE_URL'])"))

        assert (done.returncode, done.stderr) == (0, "")
        assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    finally:
        remove_area(place)


def test_it_works_for_an_ordinary_user(tmp_path: Path) -> None:
    place = checkout(tmp_path / "checkout", an_ordinary_user())

    done = place.run(*borrowed("import os, psycopg; psycopg.connect(os.environ['DATABASE_URL'])"))

    assert (done.returncode, done.stderr) == (0, "")
    assert (place.root / ".local" / "trial" / "pg" / "PG_VERSION").exists()
