"""Submitting: what is stored, with which defaults, and what is refused with all its reasons (SCH-21)."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from berth.common import clock
from berth.common.errors import ForbiddenError, InvalidError, NotFoundError
from scheduling.models import ImageRule, Job, Transition
from scheduling.services.submit import submit_job
from tests.factories import a_flavor, a_job, a_node, a_quota, a_tenant, an_outsider_member
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 29, 10, tzinfo=UTC)


def refused(world: World, body: Any) -> dict[str, str]:
    """Field → code of every problem that the body is refused with; nothing may have been stored."""
    with pytest.raises(InvalidError) as caught:
        submit_job(world.member, body)
    assert not Job.objects.exists()
    return {problem.field: problem.code for problem in caught.value.problems}


def message(world: World, body: Any) -> str:
    with pytest.raises(InvalidError) as caught:
        submit_job(world.member, body)
    assert not Job.objects.exists()
    return " ".join(str(problem.message) for problem in caught.value.problems)


def test_what_is_left_out_gets_the_documented_defaults() -> None:
    world = a_world(tier="batch")

    with clock.frozen_at(NOW):
        job = submit_job(world.member, world.body())

    role = job.roles.get()
    assert (job.state, job.tier, job.priority, job.max_restarts, job.max_runtime_s) == ("queued", "batch", 500, 3, None)
    assert (job.submitted_at, job.order_at, job.eligible_at) == (NOW, NOW, NOW)
    assert (role.replicas, role.minimum, role.in_gang) == (1, 1, True)
    assert [accepted.flavor for accepted in role.role_flavors.all()] == [world.flavor]
    assert (role.cpu_m, role.memory_mib) == (16_000, 128 * 1024)


def test_the_first_transition_says_who_submitted() -> None:
    world = a_world()

    job = submit_job(world.member, world.body())

    row = Transition.objects.get(job_id=job.pk)
    assert (row.subject, row.old, row.new, row.reason, row.actor) == (
        "job", "", "queued", "submitted", world.member.username,
    )  # fmt: skip


def test_cpu_and_memory_of_a_pod_without_cards_are_one_core_and_one_gib() -> None:
    world = a_world()

    role = submit_job(world.member, world.body(roles=[world.role(resources={})])).roles.get()

    assert (role.cards_m, role.cpu_m, role.memory_mib) == (0, 1000, 1024)
    assert not role.role_flavors.exists()


def test_a_flavor_without_its_pool_is_the_one_of_the_queues_own_pool() -> None:
    world = a_world()
    own = a_flavor("a30@ext", pool=world.queue.pool)
    a_flavor("a30", pool=a_flavor().pool)
    a_node(flavor=own)
    a_quota(world.queue, flavor=own, nominal=8)

    job = submit_job(world.member, world.body(roles=[world.role(resources={"gpu": 1, "flavors": ["a30"]})]))

    assert [accepted.flavor for accepted in job.roles.get().role_flavors.all()] == [own]


def test_jobs_of_one_shape_share_a_key_and_another_shape_has_another() -> None:
    world = a_world()

    one, two = submit_job(world.member, world.body()), submit_job(world.member, world.body(name="other", priority=1))
    three = submit_job(world.member, world.body(roles=[world.role(resources={"gpu": 2})]))

    assert one.shape_key == two.shape_key != three.shape_key


def test_everything_a_body_may_hold_is_stored() -> None:
    world = a_world()
    first = submit_job(world.member, world.body())

    job = submit_job(
        world.member,
        world.body(
            kind="service",
            priority=7,
            topology={"mode": "preferred", "level": "rack"},
            elastic={"step": 1, "cooldown": 60},
            max_runtime=3600,
            expected_runtime=1800,
            max_restarts=0,
            checkpoint={"path": "/ckpt", "interval": 60},
            output={"claim": "out", "path": "results"},
            datasets=["imagenet"],
            objective="cheapest",
            deadline="2026-12-01T00:00:00Z",
            not_before="2026-11-30T00:00:00+08:00",
            after=[{"job": first.pk, "on": "any"}],
            callback_url="https://example.org/hook",
            labels={"project": "x", "berth.dev/sim-duration": "30"},
            roles=[
                world.role(
                    limits={"cpu": 32, "memory": 128},
                    command=["python", "train.py"],
                    args=["--x"],
                    env={"LR": "1e-4"},
                    volumes=[{"claim": "data", "mount": "/data", "read_only": True}],
                    ports=[8080],
                    shm_gib=2,
                    run_as_user=1000,
                )
            ],
        ),
    )

    role = job.roles.get()
    assert job.not_before == datetime(2026, 11, 29, 16, tzinfo=UTC)
    assert (job.topology_level, job.elastic_step, job.checkpoint_interval_s, job.output_claim) == ("rack", 1, 60, "out")
    assert list(job.dependencies.values_list("on_job_id", "condition")) == [(first.pk, "any")]
    assert [dataset.name for dataset in job.datasets.all()] == ["imagenet"]
    assert job.labels == {"project": "x", "berth.dev/sim-duration": "30"}
    assert (role.cpu_limit_m, role.env, role.volumes[0]["read_only"], role.shm_mib) == (
        32_000,
        {"LR": "1e-4"},
        True,
        2048,
    )


def test_an_array_makes_one_job_per_member_under_the_first() -> None:
    world = a_world()

    first = submit_job(world.member, world.body(array={"size": 3, "limit": 2}))

    members = list(Job.objects.order_by("id"))
    assert [member.array_index for member in members] == [0, 1, 2]
    assert {member.array_parent_id for member in members} == {first.pk}
    assert {(member.array_size, member.array_limit, member.roles.count()) for member in members} == {(3, 2, 1)}


def test_every_wrong_field_is_listed_at_once_with_the_allowed_range() -> None:
    world = a_world()
    body = world.body(
        name="",
        priority=1001,
        tier="gold",
        max_runtime=0,
        labels={"berth.dev/tenant": "other", "x": "y z"},
        callback_url="http://169.254.169.254/latest",
        colour="red",
        roles=[world.role(replicas=0, env={"RANK": "0"}, resources={"gpu": -1, "gpus": 3})],
    )

    assert refused(world, body) == {
        "name": "required",
        "priority": "range",
        "tier": "choice",
        "max_runtime": "range",
        "labels.berth.dev/tenant": "label",
        "labels.x": "label",
        "callback_url": "url",
        "colour": "unknown-field",
        "roles[0].replicas": "range",
        "roles[0].env.RANK": "reserved",
        "roles[0].resources.gpu": "range",
        "roles[0].resources.gpus": "unknown-field",
    }


@pytest.mark.parametrize(
    "smallest",
    [5, 0, -1, "two", 2.5, True],
    ids=["above the full size", "none", "below none", "a word", "half a pod", "a truth"],
)
def test_a_smallest_size_that_cannot_be_is_refused(smallest: Any) -> None:
    """SCH-10."""
    world = a_world()

    wrong = refused(world, world.body(roles=[world.role(replicas=4, min_replicas=smallest)]))

    assert wrong == {"roles[0].min_replicas": "range"}


def test_a_range_of_sizes_is_for_roles_of_the_gang() -> None:
    """SCH-10."""
    world = a_world()
    outside = world.role(name="evaluator", gang=False, replicas=4, min_replicas=2)

    assert refused(world, world.body(roles=[world.role(), outside])) == {"roles[1].min_replicas": "range"}


def test_a_job_with_a_range_is_stored_with_it_and_needs_room_for_its_smallest_size_alone() -> None:
    """SCH-10: ten pods of eight cards would never fit on its nodes, one does."""
    world = a_world()
    body = world.body(
        elastic={"step": 3, "cooldown": 0},
        roles=[world.role(replicas=10, min_replicas=1, resources={"gpu": 8})],
    )

    wrong = refused(world, world.body(roles=[world.role(replicas=10, min_replicas=9, resources={"gpu": 8})]))
    job = submit_job(world.member, body)

    role = job.roles.get()
    assert (role.replicas, role.minimum, job.elastic_step, job.elastic_cooldown_s) == (10, 1, 3, 0)
    assert wrong == {"roles[0].min_replicas": "impossible"}


def test_what_comes_later_is_refused_by_name() -> None:
    world = a_world()

    role = world.role(replicas=4, min_replicas=2, resources={"gpu": 0.5})
    assert refused(world, world.body(roles=[role])) == {"roles[0].min_replicas": "not-supported-yet"}


@pytest.mark.parametrize(
    ("resources", "where"),
    [
        ({"gpu": 1, "flavors": ["shared-card"]}, "roles[0].resources.flavors[0]"),
        ({"gpu": 0.5, "flavors": ["whole-card"]}, "roles[0].resources.flavors[0]"),
        ({"gpu": 1.5}, "roles[0].resources.gpu"),
    ],
    ids=["a whole card of shared ones", "a share of whole ones", "one and a half cards"],
)
def test_cards_come_only_the_way_their_flavor_hands_them_out(resources: dict[str, Any], where: str) -> None:
    """SCH-13."""
    world = a_world()
    a_flavor("whole-card", pool=world.queue.pool, mode="whole")
    a_flavor("shared-card", pool=world.queue.pool, mode="shared")

    assert list(refused(world, world.body(roles=[world.role(resources=resources)]))) == [where]


@pytest.mark.parametrize(
    ("fields", "resources", "replicas", "where", "said"),
    [
        ({}, {"gpu": 16}, 1, "roles[0].resources.gpu", "8 cards too many"),
        ({}, {"gpu": 8}, 3, "roles[0].replicas", "room for 2 of its 3 pods: 1 too many"),
        ({}, {"gpu": 1, "cpu": 130}, 1, "roles[0].resources.cpu", "2 CPU cores too many"),
        ({}, {"gpu": 1, "memory": 1025}, 1, "roles[0].resources.memory", "1 GiB memory too many"),
        ({}, {"gpu": 1, "vram_per_gpu": 96}, 1, "roles[0].resources.vram_per_gpu", "16 GiB card memory too many"),
        ({}, {"gpu": 6}, 2, "queue", "4 cards"),
        (
            {"topology": {"mode": "required", "level": "host"}},
            {"gpu": 4},
            3,
            "roles[0].replicas",
            "at most 2, 1 too many",
        ),
    ],
    ids=["cards of a node", "all nodes", "CPU", "memory", "VRAM", "quota", "topology"],
)
def test_what_could_never_run_is_refused_by_how_much_and_nothing_is_stored(
    fields: dict[str, Any], resources: dict[str, Any], replicas: int, where: str, said: str
) -> None:
    world = a_world(nominal=8)
    body = world.body(**fields, roles=[world.role(replicas=replicas, resources=resources)])

    assert refused(world, body) == {where: "impossible"}
    assert said in message(world, body)


def test_over_quota_now_is_accepted_where_it_could_be_borrowed() -> None:
    world = a_world(nominal=4)
    lender = a_world(nominal=0)
    lender.tenant.cohort = world.cohort
    lender.tenant.save(update_fields=["cohort"])
    a_quota(lender.queue, flavor=world.flavor, nominal=12)

    job = submit_job(world.member, world.body(roles=[world.role(resources={"gpu": 8})]))

    assert job.state == "queued"


def test_production_is_refused_above_what_its_tenants_nominal_backs_physically() -> None:
    world = a_world(nominal=12)
    world.queue.pool.factor_ppm = 1_500_000
    world.queue.pool.save(update_fields=["factor_ppm"])
    body = world.body(tier="production", roles=[world.role(resources={"gpu": 5}, replicas=2)])

    assert refused(world, body) == {"queue": "impossible"}
    assert "at most 8 cards" in message(world, body)


def test_a_raised_quota_counts_at_once() -> None:
    world = a_world(nominal=4)
    body = world.body(roles=[world.role(resources={"gpu": 8})])
    refused(world, body)
    line = world.queue.quotas.get()
    line.nominal = 8000
    line.save(update_fields=["nominal"])

    assert submit_job(world.member, body).state == "queued"


def test_urgent_work_needs_the_tenant_admin() -> None:
    world = a_world()

    with pytest.raises(ForbiddenError):
        submit_job(world.member, world.body(priority=900))

    assert submit_job(world.admin, world.body(priority=900)).priority == 900


def test_a_tenant_one_does_not_belong_to_is_not_found() -> None:
    world = a_world()

    with pytest.raises(NotFoundError):
        submit_job(an_outsider_member(), world.body())
    with pytest.raises(NotFoundError):
        submit_job(world.member, world.body(tenant="no-such-tenant"))


def test_rows_of_another_tenant_cannot_be_named() -> None:
    """W03, W16."""
    world, other = a_world(), a_world()
    foreign = a_job(other.queue)
    body = world.body(
        project="x",
        after=[{"job": foreign.pk}],
        roles=[world.role(env_from=["their-secret"], image_pull=["their-pull"])],
    )

    with pytest.raises(InvalidError) as caught:
        submit_job(world.member, body)

    assert {problem.field for problem in caught.value.problems} == {
        "project", "after[0].job", "roles[0].env_from[0]", "roles[0].image_pull[0]",
    }  # fmt: skip


def test_an_image_rule_ends_at_a_boundary_of_the_reference() -> None:
    """K34."""
    world = a_world()
    ImageRule.objects.create(prefix="registry.example")

    assert submit_job(world.member, world.body()).pk
    with pytest.raises(InvalidError):
        submit_job(world.member, world.body(roles=[world.role(image="registry.example.evil.org/train:1")]))


@pytest.mark.parametrize("instant", ["9999-12-31T00:00:00-23:00", "0001-01-01T00:00:00+23:59", "1999-12-31T23:59:59Z"])
def test_a_deadline_of_another_age_is_refused_with_the_range(instant: str) -> None:
    world = a_world()
    body = world.body(deadline=instant, not_before=instant)

    assert refused(world, body) == {"deadline": "range", "not_before": "range"}
    assert "Give an instant from 2000-01-01 to 2200-01-01." in message(world, body)


def test_a_closing_tenant_takes_no_new_jobs() -> None:
    world = a_world()
    world.tenant.state = "closing"
    world.tenant.save(update_fields=["state"])

    assert refused(world, world.body()) == {"tenant": "closed"}


def test_a_number_that_no_float_holds_exactly_is_taken_as_written() -> None:
    world = a_world()

    role = submit_job(world.member, world.body(roles=[world.role(resources={"gpu": 1, "cpu": 0.1})])).roles.get()

    assert Decimal(role.cpu_m) == 100


def test_a_tenant_without_a_cohort_has_its_own_quota_only() -> None:
    world = a_world(nominal=8)
    alone = a_tenant()
    world.tenant.cohort = None
    world.tenant.save(update_fields=["cohort"])
    assert alone.cohort is None

    assert refused(world, world.body(roles=[world.role(resources={"gpu": 5}, replicas=2)])) == {"queue": "impossible"}
