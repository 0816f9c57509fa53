"""Small files that tests change in one place, and readers that give problems as lines."""

from scheduling.simulator.cluster import Cluster
from scheduling.simulator.cluster_file import parse_cluster
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.plan_file import parse_plan
from scheduling.simulator.policy_file import parse_policy
from scheduling.simulator.problems import InvalidFileError, WrongValueError

CLUSTER = """\
flavors:
  a100: {cards: any, vram_gib: 80, weight: 1.0, price_per_card_hour: "12.50", currency: CNY}
nodes:
  - {count: 4, name: "n{i}", flavor: a100, gpus: 8, cpu: 64, memory_gib: 512, topology: {zone: z1, rack: "r{i//2}"}}
cohorts: [{name: root}]
tenants:
  - {name: a, cohort: root, queues: [{name: main, quota: {gpu: {a100: {nominal: 16}}}}]}
  - {name: b, cohort: root, queues: [{name: main, tier: batch, quota: {gpu: {a100: {nominal: 16}}}}]}
"""
JOBS_HEADER = (
    "job_id,tenant,queue,tier,priority,submit_s,duration_s,pods,min_pods,gpus_per_pod,flavors,"
    "cpu_per_pod,memory_gib_per_pod,max_runtime_s,topology_mode,topology_level"
)


def no_files(name: str) -> str:
    raise WrongValueError(f"{name} cannot be read: No such file or directory")


def cluster(text: str = CLUSTER) -> Cluster:
    return parse_cluster(text, "cluster.yaml", no_files)


def jobs(*rows: str) -> str:
    return "\n".join((JOBS_HEADER, *rows)) + "\n"


def cluster_problems(text: str) -> list[str]:
    return _problems(lambda: parse_cluster(text, "cluster.yaml", no_files))


def jobs_problems(text: str, *, cluster_text: str = CLUSTER) -> list[str]:
    return _problems(lambda: parse_jobs(text, "jobs.csv", cluster(cluster_text)))


def policy_problems(text: str) -> list[str]:
    return _problems(lambda: parse_policy(text, "policy.yaml"))


def plan_problems(text: str) -> list[str]:
    return _problems(lambda: parse_plan(text, "plan.yaml", no_files))


def _problems(read: object) -> list[str]:
    try:
        read()  # type: ignore[operator]
    except InvalidFileError as invalid:
        return [str(problem) for problem in invalid.problems]
    return []
