"""A job as people and scripts write it (docs/api-jobs.md) -> `JobAsk`. Knows words and ranges only: no rows, no clock, no capacity."""

from scheduling.services.job_body.ask import AfterAsk, ArrayAsk, JobAsk, RoleAsk, VolumeAsk
from scheduling.services.job_body.job import read_job
from scheduling.services.job_body.yaml_text import body_from_yaml, body_to_yaml

__all__ = [
    "AfterAsk",
    "ArrayAsk",
    "JobAsk",
    "RoleAsk",
    "VolumeAsk",
    "body_from_yaml",
    "body_to_yaml",
    "read_job",
]
