"""What the web server loads: `granian --interface wsgi berth.wsgi:application`."""

import os
import signal

from django.core.wsgi import get_wsgi_application

from berth.localstack.lifeline import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")

# A server process whose master was killed would keep the port and answer with old code.
die_with_parent(signal.SIGKILL)

application = get_wsgi_application()
