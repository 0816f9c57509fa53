"""Deployment facts, read from the environment and validated at start. Prices, weights and limits are rows, not settings."""

from dj_database_url import parse as parse_database_url
from dj_email_url import parse as parse_email_url
from django.utils.translation import gettext_lazy as _

from berth import environment
from berth.admin_look import ADMIN_LOOK
from berth.celery_settings import celery_settings
from berth.common.schema_settings import SCHEMA_SETTINGS
from berth.content_security import POLICY
from berth.logs import logging_settings

_environment = environment.read_or_exit()
_running = environment.running_services()

BASE_DIR = environment.ROOT
SECRET_KEY = environment.secret_key(_environment)
DEBUG = False
BERTH_API_URL = (_environment.api_url or f"http://127.0.0.1:{_environment.port}").rstrip("/")
"""Where pods reach this site: `BERTH_API` in their environment."""
ALLOWED_HOSTS = [*_environment.allowed_hosts, *environment.host_of(_environment.api_url)]

# --- Berth ---

BERTH_CLUSTER = _environment.cluster
BERTH_KUBECONFIG = _environment.kubeconfig
BERTH_DEMO = _environment.demo
BERTH_TIME_SCALE = _environment.time_scale
BERTH_PORT = _environment.port
BERTH_PROMETHEUS_URL = _environment.prometheus_url
BERTH_RATE_LIMITS = _environment.rate_limits
BERTH_LOG_BYTES = _environment.log_kib * 1024
"""What is kept of one pod's output at most, the newest."""
BERTH_TENANT_LOGS_BYTES = _environment.logs_mib * 1024 * 1024
"""What is kept of all of a tenant's output at most, compressed; the oldest goes first."""
CLUSTER_ADAPTERS = {
    "simulated": "scheduling.control.simulated_cluster.SimulatedCluster",
    "kubernetes": "scheduling.cluster.kube.KubernetesCluster",
}
"""By dotted path, so that nothing but this string names the module that imports the Kubernetes client."""

# --- Django ---

INSTALLED_APPS = [
    "berth",
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "knox",
    "pgtrigger",
    "pghistory",
    "django_htmx",
    "django_prometheus",
    "django_structlog",
    "csp",
    "berth.common",
    "berth.pages",
    "tenants",
    "scheduling",
    "billing",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "berth.refused_characters.RefusedCharactersMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "berth.content_security.ContentSecurityMiddleware",
    "tenants.access.door.ApiDoorMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "berth.pages.person.PersonMiddleware",
    "berth.pages.failures.FailureMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "berth.urls"
WSGI_APPLICATION = "berth.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "berth.pages.frame.frame",
            ]
        },
    }
]

# --- PostgreSQL and Valkey: from the environment, else those that a launcher runs for this checkout ---

DATABASES = {
    "default": parse_database_url(
        _environment.database_url or _running.get("database_url") or environment.NO_DATABASE_URL
    )
    | {
        # A pool and not CONN_MAX_AGE: the web server's threads come and go, their connections should not.
        "OPTIONS": {
            "pool": {"min_size": 1, "max_size": 16, "timeout": 5, "max_idle": 60},
            "connect_timeout": 5,
            "application_name": "berth",
        },
        "CONN_HEALTH_CHECKS": True,
    }
}
DATABASES["simulated"] = DATABASES["default"] | {
    # The same server on connections of its own: the simulated cluster's writes never share a transaction of the platform's.
    "OPTIONS": {"connect_timeout": 5, "application_name": "berth-simulated-cluster"},
    "CONN_MAX_AGE": 60,
    "TEST": {"MIRROR": "default"},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = _environment.redis_url or _running.get("redis_url") or environment.NO_REDIS_URL
globals().update(celery_settings(REDIS_URL))

# --- People ---

AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
# Length and what everybody tries first; no rules of composition (W28).
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 8}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_ADAPTER = "berth.pages.accounts.ClosedAccounts"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
KNOX_TOKEN_MODEL = "tenants.ApiToken"  # noqa: S105 - a model's name
# Our token table stands in for Knox's own, which its migrations would make all the same, out of Django's sight.
MIGRATION_MODULES = {"knox": None}
REST_KNOX = {
    "TOKEN_TTL": None,
    "TOKEN_PREFIX": "berth_",
    "AUTH_HEADER_PREFIX": "Bearer",
    "TOKEN_MODEL": "tenants.ApiToken",
}
if _environment.email_url:
    globals().update({name: value for name, value in parse_email_url(_environment.email_url).items() if value})
else:
    EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

# --- REST ---

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.access.authentication.TokenOrSession"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["berth.common.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_FILTER_BACKENDS": ["drf_canon.filtering.FilterBackend"],
    "DEFAULT_PAGINATION_CLASS": "berth.common.paging.CursorPages",
    "DEFAULT_SCHEMA_CLASS": "berth.common.schema.BerthSchema",
    "EXCEPTION_HANDLER": "berth.common.problems.exception_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    # `?format=` would be a second way to say Accept, and an unknown query parameter to us.
    "URL_FORMAT_OVERRIDE": None,
    "DATETIME_FORMAT": "iso-8601",
}
SPECTACULAR_SETTINGS = SCHEMA_SETTINGS
CSRF_FAILURE_VIEW = "berth.problem_pages.csrf_failure"

# --- Languages ---

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("简体中文"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "berth.instant_formats"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# --- Static files: hashed names and precompressed copies, made by the launcher and the image ---

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = environment.LOCAL / "staticfiles"

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    # Kept logs of pods. Any storage that Django knows will do, an object store's too.
    "logs": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {
            "location": _environment.logs_dir,
            "base_url": None,
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
        },
    },
}
UNFOLD = ADMIN_LOOK

# --- Security and logs ---

CONTENT_SECURITY_POLICY = POLICY
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
LOGGING = logging_settings()
DJANGO_STRUCTLOG_CELERY_ENABLED = True
