# One image for web, worker, beat and watcher; the command decides (docker-compose.yml).
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 DJANGO_SETTINGS_MODULE=berth.settings
WORKDIR /berth

COPY requirements/runtime.txt requirements/runtime.txt
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements/runtime.txt

COPY . .
# The apps and `platform/` go last on the path; static files are hashed and compressed once, here; nobody runs as root.
RUN printf '/berth\n/berth/platform\n' > "$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/berth.pth" \
 && for po in locale/*/LC_MESSAGES/django.po; do \
      pybabel compile --input-file "$po" --output-file "${po%.po}.mo" --locale zh_Hans; done \
 && python manage.py collectstatic --no-input --verbosity 0 \
 && python -m whitenoise.compress --quiet .local/staticfiles \
 && useradd --system --uid 10001 --user-group --home-dir /berth berth && mkdir -p .local/logs && chown -R berth:berth .local

# By number: a cluster that asks for a user other than root cannot read names.
USER 10001:10001
EXPOSE 8000
