"""Deployment facts, read from the environment and validated at start. Prices, weights and limits are rows, not settings."""

from pathlib import Path

from environs import Env

env = Env()
BASE_DIR = Path(__file__).resolve().parents[2]

SECRET_KEY = env.str("BERTH_SECRET_KEY", "insecure-development-key")
DEBUG = False
ALLOWED_HOSTS = env.list("BERTH_ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]", "testserver"])
BERTH_CLUSTER = env.str("BERTH_CLUSTER", "simulated")
BERTH_TIME_SCALE = env.int("BERTH_TIME_SCALE", 1)
CLUSTER_ADAPTERS = {
    "simulated": "scheduling.control.simulated_cluster.SimulatedCluster",
    "kubernetes": "scheduling.cluster.kube.KubernetesCluster",
}

INSTALLED_APPS = [
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
    "berth.common",
    "tenants",
    "scheduling",
    "billing",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
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
            ]
        },
    }
]

DATABASES = {"default": env.dj_db_url("DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/berth")}
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
REDIS_URL = env.str("REDIS_URL", "redis://127.0.0.1:6379/0")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
KNOX_TOKEN_MODEL = "tenants.ApiToken"  # noqa: S105 - a model's name
REST_KNOX = {"TOKEN_TTL": None, "TOKEN_PREFIX": "berth_", "AUTH_HEADER_PREFIX": "Bearer", "TOKEN_MODEL": "tenants.ApiToken"}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = BASE_DIR / ".local" / "staticfiles"
