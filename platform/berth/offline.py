"""Settings for commands that need neither database nor web (`plan`, `simulate`): texts and nothing else, so that they start at once."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

INSTALLED_APPS = ["scheduling.offline.OfflineConfig"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LOCALE_PATHS = [ROOT / "locale"]
