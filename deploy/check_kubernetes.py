"""Base and overlays of deploy/kubernetes/: built, each object against the schema of its kind, and every pod against our own rules.

Needs no cluster: `kubectl kustomize` and the schemas come from wheels.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parent / "kubernetes"
BIN = Path(sys.executable).parent
VERSION = "1.36"
NEEDED = {"web", "worker", "beat", "watcher"}


def main() -> int:
    problems, count = [], 0
    for place in ("base", *(f"overlays/{each.name}" for each in sorted((FOLDER / "overlays").iterdir()))):
        built = _ran("kubectl", "kustomize", str(FOLDER / place))
        if built.returncode != 0:
            problems.append(f"{place}: {built.stderr.strip()}")
            continue
        documents = [each for each in yaml.safe_load_all(built.stdout) if each]
        count += len(documents)
        problems += [f"{place}: {line}" for line in (*_against_schemas(built.stdout), *_against_rules(documents))]
    print("\n".join(problems) or f"{count} objects")
    return 1 if problems else 0


def _ran(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(BIN / program), *arguments], capture_output=True, text=True, check=False)


def _against_schemas(text: str) -> list[str]:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = _ran("kubernetes-validate", "--strict", "--kubernetes-version", VERSION, file.name)
    told = (done.stdout + done.stderr).splitlines()
    return [line for line in told if "passed for resource" not in line] if done.returncode != 0 else []


def _against_rules(documents: list[dict[str, Any]]) -> Iterator[str]:
    made = {(each["kind"], each["metadata"]["name"]) for each in documents}
    components = {name.removeprefix("berth-") for kind, name in made if kind == "Deployment"}
    yield from (f"Deployment berth-{name} is missing" for name in sorted(NEEDED - components))
    for document in documents:
        template = document.get("spec", {}).get("template")
        if template is None:
            continue
        name = f"{document['kind']} {document['metadata']['name']}"
        yield from (f"{name}: {line}" for line in _of_pod(template["spec"], made))
        wanted = document["spec"].get("selector", {}).get("matchLabels", {})
        if not wanted.items() <= template["metadata"]["labels"].items():
            yield f"{name}: its selector does not match its own pods"


def _of_pod(pod: dict[str, Any], made: set[tuple[str, str]]) -> Iterator[str]:
    """Pod Security `restricted`, and that what it refers to is made here (but the Secret, which is the operator's)."""
    account = pod.get("serviceAccountName")
    if account is None and pod.get("automountServiceAccountToken") is not False:
        yield "it takes a token that it has no use for"
    if account is not None and ("ServiceAccount", account) not in made:
        yield f"there is no ServiceAccount {account}"
    security = pod.get("securityContext", {})
    if not security.get("runAsNonRoot") or security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "it is not restricted to a user other than root with the default seccomp profile"
    volumes = {volume["name"] for volume in pod.get("volumes", ())}
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        own = container.get("securityContext", {})
        if own.get("allowPrivilegeEscalation") is not False or own.get("capabilities", {}).get("drop") != ["ALL"]:
            yield f"{container['name']} may raise its rights"
        if "memory" not in container.get("resources", {}).get("limits", {}):
            yield f"{container['name']} has no memory limit"
        mounted = {mount["name"] for mount in container.get("volumeMounts", ())}
        yield from (f"{container['name']} mounts unknown volume {name}" for name in sorted(mounted - volumes))
        for source in container.get("envFrom", ()):
            name = source.get("configMapRef", {}).get("name")
            if name is not None and ("ConfigMap", name) not in made:
                yield f"{container['name']} reads unknown ConfigMap {name}"


if __name__ == "__main__":
    sys.exit(main())
