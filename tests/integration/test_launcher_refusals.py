"""What a launcher cannot work with gets one line that names it, an exit code, and no traceback."""

import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.launcher_rig import Checkout, an_ordinary_user, checkout, remove_area


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Checkout]:
    place = checkout(tmp_path / "checkout")
    yield place
    remove_area(place)


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.strip()


@pytest.mark.parametrize(
    ("name", "value", "want"),
    [
        ("BERTH_PORT", "eighty", "berth: BERTH_PORT=eighty: Not a valid integer."),
        ("BERTH_CLUSTER", "nomad", "berth: BERTH_CLUSTER=nomad: Must be one of: simulated, kubernetes."),
        ("BERTH_DEMO", "maybe", "berth: BERTH_DEMO=maybe: Not a valid boolean."),
        (
            "BERTH_TIME_SCALE",
            "0",
            "berth: BERTH_TIME_SCALE=0: Must be greater than or equal to 1 and less than or equal to 86400.",
        ),
        (
            "DATABASE_URL",
            "mysql://secret@there",
            "berth: DATABASE_URL: Not an address that starts with postgres:// or postgresql://.",
        ),
        (
            "EMAIL_URL",
            "mail.example.org",
            (
                "berth: EMAIL_URL: Not an address that starts with smtp:// or smtps:// or smtp+tls:// or smtp+ssl://"
                " or submission:// or console:// or file:// or memory:// or dummy://."
            ),
        ),
        ("BERTH_KUBECONFIG", "/nowhere", "berth: BERTH_KUBECONFIG=/nowhere: There is no such file."),
    ],
)
def test_a_wrong_setting_is_named_and_no_password_shown(place: Checkout, name: str, value: str, want: str) -> None:
    done = place.run("run", **{name: value})

    assert (done.returncode, one_line(done)) == (2, want)


def test_a_busy_port_is_named_with_a_way_out(place: Checkout) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        done = place.run("run", BERTH_PORT=str(port))

    assert done.returncode == 1
    assert one_line(done) == f"berth: port {port} is in use: try `make run BERTH_PORT={port + 1}`"


def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    user = an_ordinary_user()
    place = checkout(tmp_path / "checkout", user)
    place.root.chmod(0o555)
    try:
        done = place.run("run")
    finally:
        place.root.chmod(0o755)

    assert done.returncode == 1
    assert one_line(done) == f"berth: {place.root / '.local'}: not allowed (is it another user's?)"


def test_a_disk_that_takes_no_more_is_told_by_the_database_in_one_line(place: Checkout) -> None:
    """A limit on file size stands for the full disk: initdb fails in the middle of its work either way."""
    limit = 8 * 2**20
    done = subprocess.run(
        place.command("with-services", "trial", "--", "true"),
        cwd=place.root,
        env=place.environment(),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )

    assert done.returncode == 1
    assert one_line(done).startswith(f"berth: PostgreSQL could not make {place.data() / 'trial' / 'pg'}: ")
    assert list((place.data() / "trial").glob("pg*")) == []


def test_too_little_room_is_told_before_anything_is_started(place: Checkout) -> None:
    code = (
        "import sys, pathlib\n"
        "from berth.localstack import problems\n"
        "problems.MIN_FREE_MIB = 2**40\n"
        "from berth.localstack.__main__ import main\n"
        "sys.exit(main(['with-services', 'trial', '--', 'true']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=place.root,
        env=place.environment(),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert done.returncode == 1
    assert "MiB free on the disk" in one_line(done)
    assert not (place.root / ".local" / "trial").exists()
