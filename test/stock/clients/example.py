"""The README's requests with a client that openapi-python-client generated. Run with the address of a node."""

import sys

from carillon_client import Client
from carillon_client.api.executions import get_execution
from carillon_client.api.jobs import create_job, get_job, list_jobs, preview_schedule
from carillon_client.api.pools import create_pool
from carillon_client.api.workers import lease_executions, register_worker, report_executions
from carillon_client.models import (
    CreatedJob,
    CronJobInput,
    CronPreview,
    Dedupe,
    Execution,
    ExecutionState,
    Fires,
    HandlerTarget,
    JobPage,
    LeaseAnswer,
    LeaseInput,
    ListJobsState,
    OneShotInput,
    OutcomeSUCCEEDED,
    PoolRegistration,
    PoolInput,
    Problem,
    ReportAnswer,
    ReportInput,
    RetryPolicy,
    RetryPolicyBackoff,
    WorkerRegistration,
    RegistrationAnswer,
)

client = Client(base_url=sys.argv[1])
target = HandlerTarget(handler="generate_invoices", pool="batch-etl")

create_pool.sync(client=client, body=PoolInput(name="batch-etl"))
job = create_job.sync(
    client=client,
    idempotency_key="7a1e",
    body=CronJobInput(
        name="daily-invoice-gen",
        type_="CRON",
        schedule="0 3 * * *",
        timezone="America/Los_Angeles",
        target=target,
        payload={"dateRange": "yesterday"},
        retry_policy=RetryPolicy(max_attempts=3, backoff=RetryPolicyBackoff.EXPONENTIAL, initial_delay_ms=30_000),
        timeout_sec=600,
    ),
)
assert isinstance(job, CreatedJob), job
page = list_jobs.sync(client=client, state=ListJobsState.ACTIVE, limit=10)
assert isinstance(page, JobPage) and any(each.job_id == job.job_id for each in page.items), page
fires = preview_schedule.sync(
    client=client, body=CronPreview(type_="CRON", schedule="30 2 * * *", timezone="Europe/Berlin", count=3)
)
assert isinstance(fires, Fires) and len(fires.fires) == 3, fires

submitted = create_job.sync(
    client=client,
    body=OneShotInput(type_="ONE_SHOT", target=target, payload={"dateRange": "today"}, dedupe=Dedupe(key="python")),
)
assert isinstance(submitted, CreatedJob), submitted
pools = [PoolRegistration(pool="batch-etl", handlers=["generate_invoices"], slots=1)]
worker = register_worker.sync(client=client, body=WorkerRegistration(name="example", pools=pools))
assert isinstance(worker, RegistrationAnswer), worker
leased = lease_executions.sync(worker.worker_id, client=client, body=LeaseInput(pool="batch-etl", slots=1))
assert isinstance(leased, LeaseAnswer), leased
[execution] = leased.executions
outcome = OutcomeSUCCEEDED(
    outcome="SUCCEEDED", execution_id=execution.execution_id, fence=execution.fence, result="done for today"
)
answer = report_executions.sync(worker.worker_id, client=client, body=ReportInput(outcomes=[outcome]))
assert isinstance(answer, ReportAnswer), answer

ended = get_execution.sync(submitted.job_id, client=client, wait_sec=4)
assert isinstance(ended, Execution) and ended.state == ExecutionState.SUCCEEDED, ended
missing = get_job.sync(worker.worker_id, client=client)
assert isinstance(missing, Problem) and missing.code == "JOB_NOT_FOUND", missing
print(ended.result)
