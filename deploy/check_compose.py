"""docker-compose.yml against a schema of the part of the Compose Specification that it uses, and its own references."""

import sys
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

COMPOSE = Path(__file__).resolve().parents[1] / "docker-compose.yml"

_TEXT = {"type": "string", "minLength": 1}
_TEXTS = {"type": "array", "items": _TEXT, "minItems": 1}
_DURATION = {"type": "string", "pattern": r"^(\d+(us|ms|s|m|h))+$"}
_SERVICE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "oneOf": [{"required": ["image"]}, {"required": ["build"]}],
    "properties": {
        "image": _TEXT,
        "build": _TEXT,
        "command": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "environment": {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}},
        "ports": _TEXTS,
        "volumes": _TEXTS,
        "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
        "stop_grace_period": _DURATION,
        "depends_on": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["condition"],
                "properties": {
                    "condition": {"enum": ["service_started", "service_healthy", "service_completed_successfully"]}
                },
            },
        },
        "healthcheck": {
            "type": "object",
            "additionalProperties": False,
            "required": ["test"],
            "properties": {
                "test": _TEXTS,
                "interval": _DURATION,
                "timeout": _DURATION,
                "start_period": _DURATION,
                "retries": {"type": "integer", "minimum": 1},
            },
        },
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["services"],
    "patternProperties": {"^x-": {}},
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]*$"},
        "services": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": "^[a-zA-Z0-9._-]+$"},
            "additionalProperties": _SERVICE,
        },
        "volumes": {"type": "object", "additionalProperties": {"type": ["object", "null"]}},
    },
}
NEEDED = {"web", "worker", "beat", "watcher", "postgres", "valkey"}


def main() -> int:
    document = yaml.safe_load(COMPOSE.read_text())
    problems = problems_of(document)
    print("\n".join(problems) or f"{len(document['services'])} services")
    return 1 if problems else 0


def problems_of(document: Any) -> list[str]:
    errors = sorted(Draft202012Validator(SCHEMA).iter_errors(document), key=lambda error: error.json_path)
    if errors:
        return [f"{error.json_path}: {error.message}" for error in errors]
    services, volumes = document["services"], document.get("volumes", {})
    lines = [f"service {name} is missing" for name in sorted(NEEDED - set(services))]
    for name, service in services.items():
        lines += [
            f"{name} depends on unknown {other}" for other in service.get("depends_on", {}) if other not in services
        ]
        lines += [
            f"{name} mounts unknown volume {source}"
            for source in (volume.partition(":")[0] for volume in service.get("volumes", []))
            if not source.startswith((".", "/")) and source not in volumes
        ]
    return lines


if __name__ == "__main__":
    sys.exit(main())
