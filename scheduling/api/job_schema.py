"""What the OpenAPI document says about jobs. Answers are shaped in `job_document`; a test holds the two together."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from berth.common.reasons import WAITS
from scheduling.api.weight_document import QueueWeightsSchema
from scheduling.models import Job
from scheduling.models.job import TIERS
from scheduling.services.job_body.job import HIGHEST_PRIORITY, LONGEST_RUNTIME_S, MOST_MEMBERS, MOST_RESTARTS
from scheduling.services.job_body.role import MOST_REPLICAS
from scheduling.states import EndReason, JobState, RunState

Fields = serializers.Serializer[Any]
NUMBER = {"type": "number"}
AMOUNTS = {"type": "object", "additionalProperties": NUMBER}
JOB_STATES = [state.value for state in JobState]


@extend_schema_field(AMOUNTS)
class AmountsField(serializers.DictField):
    """Resource key → cards, cores, GiB or nodes."""


@extend_schema_field(NUMBER)
class NumberField(serializers.FloatField):
    """A number; whole ones come without a point."""


@extend_schema_field({"type": "object", "additionalProperties": {"oneOf": [{"type": "string"}, {"type": "number"}]}})
class LabelsField(serializers.DictField):
    """Label → value; numbers become their text."""


class Body(Fields):
    """A part of a body: an optional member that is null or empty counts as left out."""

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for field in fields.values():
            if not field.required:
                field.allow_null = True
                if type(field) is serializers.CharField:
                    field.allow_blank = True
        return fields


class ResourcesSchema(Body):
    gpu = NumberField(required=False, help_text="Cards of each pod.")
    flavors = serializers.ListField(child=serializers.CharField(), required=False)
    cpu = NumberField(required=False, help_text="Cores of each pod.")
    memory = NumberField(required=False, help_text="GiB of each pod.")
    vram_per_gpu = NumberField(required=False, allow_null=True, help_text="GiB that each card must have.")


class LimitsSchema(Body):
    cpu = NumberField(required=False, allow_null=True)
    memory = NumberField(required=False, allow_null=True)


class VolumeSchema(Body):
    claim = serializers.CharField(max_length=63)
    mount = serializers.CharField(max_length=500)
    read_only = serializers.BooleanField(required=False)  # type: ignore[assignment]


class RoleSchema(Body):
    name = serializers.CharField(max_length=40)
    replicas = serializers.IntegerField(min_value=1, max_value=MOST_REPLICAS)
    min_replicas = serializers.IntegerField(required=False, min_value=1, max_value=MOST_REPLICAS)
    gang = serializers.BooleanField(required=False)
    period = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    resources = ResourcesSchema(required=False)
    limits = LimitsSchema(required=False)
    image = serializers.CharField(max_length=500)
    command = serializers.ListField(child=serializers.CharField(allow_blank=True), required=False)
    args = serializers.ListField(child=serializers.CharField(allow_blank=True), required=False)
    env = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    env_from = serializers.ListField(child=serializers.CharField(), required=False)
    image_pull = serializers.ListField(child=serializers.CharField(), required=False)
    volumes = VolumeSchema(many=True, required=False)
    ports = serializers.ListField(child=serializers.IntegerField(min_value=1, max_value=65535), required=False)
    shm_gib = NumberField(required=False, allow_null=True)
    run_as_user = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    run_as_group = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    fs_group = serializers.IntegerField(required=False, allow_null=True, min_value=1)


class TopologySchema(Body):
    mode = serializers.ChoiceField(choices=["none", "preferred", "required"])
    level = serializers.CharField(required=False, allow_null=True)


class ElasticSchema(Body):
    step = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    cooldown = serializers.IntegerField(required=False, allow_null=True, min_value=0)


class CheckpointSchema(Body):
    path = serializers.CharField(max_length=500)
    interval = serializers.IntegerField(required=False, allow_null=True, min_value=1)


class OutputSchema(Body):
    claim = serializers.CharField(max_length=63)
    path = serializers.CharField(max_length=500)


class AfterSchema(Body):
    job = serializers.IntegerField(min_value=1)
    on = serializers.ChoiceField(choices=["success", "any"], required=False)


class ArraySchema(Body):
    size = serializers.IntegerField(min_value=1, max_value=MOST_MEMBERS)
    limit = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MOST_MEMBERS)


class JobBodySchema(Body):
    """A job as it is submitted; what is left out has its default, for the most part the queue's or the card's part of a node."""

    tenant = serializers.CharField(max_length=40)
    queue = serializers.CharField(max_length=40)
    name = serializers.CharField(max_length=63)
    roles = RoleSchema(many=True)
    kind = serializers.ChoiceField(choices=Job.Kind.choices, required=False)
    tier = serializers.ChoiceField(choices=[tier for tier, _label in TIERS], required=False)
    priority = serializers.IntegerField(required=False, min_value=0, max_value=HIGHEST_PRIORITY)
    project = serializers.CharField(required=False, allow_null=True)
    topology = TopologySchema(required=False, allow_null=True)
    elastic = ElasticSchema(required=False, allow_null=True)
    expected_runtime = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=LONGEST_RUNTIME_S
    )
    max_runtime = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=LONGEST_RUNTIME_S)
    max_restarts = serializers.IntegerField(required=False, min_value=0, max_value=MOST_RESTARTS)
    checkpoint = CheckpointSchema(required=False, allow_null=True)
    output = OutputSchema(required=False, allow_null=True)
    datasets = serializers.ListField(child=serializers.CharField(), required=False)
    objective = serializers.ChoiceField(choices=["fastest", "cheapest"], required=False)
    deadline = serializers.DateTimeField(required=False, allow_null=True)
    not_before = serializers.DateTimeField(required=False, allow_null=True)
    after = AfterSchema(many=True, required=False)
    array = ArraySchema(required=False, allow_null=True)
    callback_url = serializers.CharField(required=False, allow_null=True)
    labels = LabelsField(required=False)


class JobChangeSchema(Fields):
    priority = serializers.IntegerField(required=False, min_value=0, max_value=HIGHEST_PRIORITY)
    max_runtime = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=LONGEST_RUNTIME_S)


class EtaSchema(Fields):
    earliest = serializers.DateTimeField(allow_null=True)
    likely = serializers.DateTimeField(allow_null=True)
    latest = serializers.DateTimeField(allow_null=True)
    hit_rate = NumberField(allow_null=True, help_text="Share of earlier ranges that held the start.")
    why_not = serializers.CharField(allow_null=True, help_text="Why it cannot be told.")


class HolderSchema(Fields):
    tenant = serializers.CharField(allow_null=True, help_text="null: other tenants, summed.")
    queue = serializers.CharField(allow_null=True)
    job = serializers.IntegerField(allow_null=True)
    amounts = AmountsField()
    until = serializers.DateTimeField(allow_null=True)


class WaitSchema(Fields):
    code = serializers.ChoiceField(choices=sorted(WAITS))
    message = serializers.CharField()
    need = AmountsField()
    have = AmountsField()
    short = AmountsField()
    holders = HolderSchema(many=True)
    suggestion = serializers.CharField()
    since = serializers.DateTimeField()
    reserved_start = serializers.DateTimeField(allow_null=True)
    kept = serializers.ListField(child=serializers.CharField())


class CostSchema(Fields):
    amount = serializers.CharField(allow_null=True, help_text="A decimal; null until billing has recorded it.")
    currency = serializers.CharField()
    final = serializers.BooleanField()
    as_of = serializers.DateTimeField(allow_null=True)


class LenderSchema(Fields):
    name = serializers.CharField(help_text="A queue, tenant or cohort.")
    amount = NumberField()


class LoanSchema(Fields):
    flavor = serializers.CharField()
    amount = NumberField(help_text="Cards.")
    opened_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    renewals = serializers.IntegerField()
    ended_at = serializers.DateTimeField(allow_null=True)
    why = serializers.CharField(allow_null=True)
    lenders = LenderSchema(many=True)


class PreemptionSchema(Fields):
    reason = serializers.CharField()
    notice_at = serializers.DateTimeField()
    grace_until = serializers.DateTimeField()
    outcome = serializers.CharField()
    left_at = serializers.DateTimeField(allow_null=True)


class RunCheckpointSchema(Fields):
    state = serializers.CharField()
    path = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)


class RunSizeSchema(Fields):
    """Of the role that may be resized while it runs (SCH-10)."""

    role = serializers.CharField()
    pods = serializers.IntegerField(help_text="How many it has now, or had at its end.")
    min_replicas = serializers.IntegerField()
    replicas = serializers.IntegerField()
    wanted = serializers.IntegerField(allow_null=True, help_text="As the run asked with its token.")
    why = serializers.CharField(allow_null=True, help_text="Why it is not at full size; null where nothing keeps it.")
    since = serializers.DateTimeField(allow_null=True, help_text="Its last change; null = none since its start.")


class RunSchema(Fields):
    id = serializers.IntegerField()
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=[state.value for state in RunState])
    cluster = serializers.CharField()
    admitted_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    stopping_at = serializers.DateTimeField(allow_null=True)
    grace_until = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    end_reason = serializers.ChoiceField(choices=[reason.value for reason in EndReason], allow_null=True)
    end_message = serializers.CharField()
    exit_code = serializers.IntegerField(allow_null=True)
    cards = NumberField()
    borrowed = NumberField()
    flavors = serializers.ListField(child=serializers.CharField())
    nodes = serializers.ListField(child=serializers.CharField())
    levels_crossed = serializers.ListField(child=serializers.CharField())
    slowdown_pct = NumberField()
    loans = LoanSchema(many=True)
    size = RunSizeSchema(allow_null=True, help_text="null = its job has one size only.")
    preemption = PreemptionSchema(allow_null=True)
    progress = NumberField(allow_null=True)
    step = serializers.IntegerField(allow_null=True)
    loss = NumberField(allow_null=True, help_text="As the training reports it, like `step`; null until it does.")
    peak_vram_gib = NumberField(allow_null=True, help_text="Most VRAM in use on one card; null = no samples.")
    checkpoint = RunCheckpointSchema(allow_null=True)


class JobArraySchema(Fields):
    id = serializers.IntegerField(help_text="The first member's id.")
    index = serializers.IntegerField()
    size = serializers.IntegerField()
    limit = serializers.IntegerField(allow_null=True)


class JobSchema(Fields):
    id = serializers.IntegerField()
    tenant = serializers.CharField()
    queue = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=Job.Kind.choices)
    tier = serializers.ChoiceField(choices=[tier for tier, _label in TIERS])
    priority = serializers.IntegerField()
    project = serializers.CharField(allow_null=True)
    user = serializers.CharField()
    labels = serializers.DictField(child=serializers.CharField(allow_blank=True))
    roles = RoleSchema(many=True)
    topology = TopologySchema(allow_null=True)
    elastic = ElasticSchema(allow_null=True)
    expected_runtime = serializers.IntegerField(allow_null=True)
    max_runtime = serializers.IntegerField(allow_null=True)
    max_restarts = serializers.IntegerField()
    checkpoint = CheckpointSchema(allow_null=True)
    output = OutputSchema(allow_null=True)
    datasets = serializers.ListField(child=serializers.CharField())
    objective = serializers.CharField()
    deadline = serializers.DateTimeField(allow_null=True)
    not_before = serializers.DateTimeField(allow_null=True)
    after = AfterSchema(many=True)
    array = JobArraySchema(allow_null=True)
    callback_url = serializers.CharField(allow_null=True)
    cards = NumberField(help_text="Cards of all pods.")
    state = serializers.ChoiceField(choices=JOB_STATES)
    position = serializers.IntegerField(allow_null=True)
    cards_ahead = NumberField(allow_null=True)
    eta = EtaSchema(allow_null=True)
    weights = QueueWeightsSchema(allow_null=True, help_text="Of queued jobs.")
    wait = WaitSchema(allow_null=True)
    runs = RunSchema(many=True)
    cost = CostSchema()
    submitted_at = serializers.DateTimeField()
    eligible_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    end_reason = serializers.ChoiceField(choices=[reason.value for reason in EndReason], allow_null=True)
    restarts_used = serializers.IntegerField()
    preemptions = serializers.IntegerField()
    node_losses = serializers.IntegerField()
    cloned_from = serializers.IntegerField(allow_null=True)


class EventSchema(Fields):
    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(
        choices=["job", "run", "wait", "preempt", "resize", "loan", "not-charged", "checkpoint"]
    )
    code = serializers.CharField()
    reason = serializers.CharField(allow_null=True)
    message = serializers.CharField()
    actor = serializers.CharField(allow_null=True)
    run = serializers.IntegerField(allow_null=True)
    cycle = serializers.IntegerField(allow_null=True)
    until = serializers.DateTimeField(allow_null=True)
    cards = NumberField(allow_null=True)
    card_seconds = serializers.IntegerField(allow_null=True)
    role = serializers.CharField(allow_null=True, help_text="Of a resize, as are `from` and `to`, in pods.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        pods = {name: serializers.IntegerField(allow_null=True) for name in ("from", "to")}
        return {**super().get_fields(), **pods}


class PodSchema(Fields):
    run = serializers.IntegerField()
    role = serializers.CharField()
    index = serializers.IntegerField()
    rank = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()
    uid = serializers.CharField(allow_null=True)
    node = serializers.CharField()
    cards = serializers.ListField(child=serializers.IntegerField())
    phase = serializers.CharField()
    created_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    exit_code = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField()
    message = serializers.CharField()
    joined_at = serializers.DateTimeField(allow_null=True, help_text="Where it came to a run that had begun (SCH-10).")
    released_at = serializers.DateTimeField(allow_null=True, help_text="When it was asked to leave a run that goes on.")
    release_reason = serializers.CharField(allow_null=True)


class NotChargedSchema(Fields):
    reason = serializers.CharField()
    card_hours = serializers.CharField()
    worth = serializers.CharField(allow_null=True)


class EstimateSchema(Fields):
    low = serializers.CharField(allow_null=True)
    high = serializers.CharField()
    currency = serializers.CharField()


class JobCostSchema(CostSchema):
    tense = serializers.ChoiceField(choices=["estimate", "so-far", "final"])
    estimate = EstimateSchema(allow_null=True)
    not_charged = NotChargedSchema(many=True)


class JobUsageSchema(Fields):
    run = serializers.IntegerField()
    flavor = serializers.CharField()
    card_seconds = NumberField()
    own = NumberField()
    borrowed = NumberField()
    excluded = AmountsField()
    utilisation = NumberField(allow_null=True)
    coverage = NumberField(allow_null=True)
    peak_vram_gib = NumberField(allow_null=True)
