"""One line per event, `key=value`, the same in every process: structlog renders, the standard library routes."""

from typing import Any

import structlog

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_settings() -> dict[str, Any]:
    """Configures structlog and answers Django's LOGGING."""
    structlog.configure(
        processors=[
            *_SHARED,
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    # Of libraries' and our own loggers alike: without it a failure tells its name and not where.
                    structlog.processors.format_exc_info,
                    structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event", "logger"]),
                ],
                "foreign_pre_chain": _SHARED,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            # Two lines a request would drown the rest; failures are logged at warning and above.
            "django_structlog.middlewares.request": {"level": "WARNING"},
            "django_structlog.celery": {"level": "WARNING"},
            "django.server": {"level": "WARNING"},
            # One line per task and second says nothing; a failed task is an error.
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
            "celery.beat": {"level": "WARNING"},
        },
    }
