"""Addresses of the pages of jobs, queues and quota."""

from django.urls import path

from scheduling.views.job import cancel, job, resume, suspend
from scheduling.views.job_log import job_log
from scheduling.views.jobs import jobs
from scheduling.views.quota import queue, quota
from scheduling.views.submit import preview, submit

urlpatterns = [
    path("jobs/", jobs, name="jobs"),
    path("jobs/<int:job_id>/", job, name="job"),
    path("jobs/<int:job_id>/log/", job_log, name="job-log"),
    path("jobs/<int:job_id>/cancel/", cancel, name="job-cancel"),
    path("jobs/<int:job_id>/suspend/", suspend, name="job-suspend"),
    path("jobs/<int:job_id>/resume/", resume, name="job-resume"),
    path("submit/", submit, name="submit"),
    path("submit/preview/", preview, name="submit-preview"),
    path("quota/", quota, name="quota"),
    path("queues/<slug:tenant>/<slug:name>/", queue, name="queue"),
]
