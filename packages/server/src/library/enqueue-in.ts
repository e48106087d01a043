/** Enqueues in a transaction of the caller's own: one row there, fired after its commit. */
import { defaults, type EnqueueOptions } from '@carillon/contract'
import { storedPolicy } from '../jobs/policy.ts'
import { quotaExceeded, refusalOf } from '../store/tenants/quota-exceeded.ts'
import type { SubmissionTarget } from '../submissions/submissions.ts'
import { runIn, type Transaction } from './transaction.ts'

export async function enqueueIn(
  tx: Transaction,
  submission: { target: SubmissionTarget; tenant: string; payload: string; runAt: number; options: EnqueueOptions },
): Promise<string> {
  const { target, tenant, payload, runAt, options } = submission
  const values = [
    target.handler,
    payload,
    target.pool,
    tenant,
    options.priority ?? defaults.priority,
    new Date(runAt),
    json(storedPolicy(options)),
    json(options.labels),
    options.traceparent ?? null,
    options.name ?? null,
  ]
  const rows = await runIn(tx)<{ id: string }>(enqueueSql, values).catch(asQuotaExceeded)
  return rows[0]!.id
}

function asQuotaExceeded(error: unknown): never {
  const refusal = refusalOf(error)
  throw refusal === null ? error : quotaExceeded(refusal)
}

export async function enqueueRunIn(
  tx: Transaction,
  {
    dag,
    tenant,
    payload,
    options,
  }: {
    dag: string
    tenant: string
    payload: string | null
    options: Pick<EnqueueOptions, 'name' | 'labels' | 'priority' | 'traceparent'> & { runAt?: Date | number }
  },
): Promise<string> {
  const { priority = defaults.priority, runAt, labels, traceparent = null, name = null } = options
  const rows = await runIn(tx)<{ id: string }>(enqueueRunSql, [
    ...[dag, payload, tenant, priority, runAt === undefined ? null : new Date(runAt), json(labels), traceparent, name],
  ])
  return rows[0]!.id
}

const enqueueRunSql = `
  select carillon.enqueue_run($1::text, $2::json, $3::text, $4::text, $5::timestamptz, $6::jsonb, $7::text, $8::text) id`

const enqueueSql = `
  select carillon.enqueue($1::text, $2::json, $3::text, $4::text, $5::text, $6::timestamptz, $7::jsonb, $8::jsonb, $9::text,
    $10::text) id`

function json(value: object | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}
