/** The row of a job as FIRE reads it. Not made by jobs/define.ts: the two folders meet in the store only. */
import { defaults, type JobInput } from '@carillon/contract'
import { iso, type JobRow } from '../store/rows.ts'

export function aJob(input: JobInput, jobId: string, now: number): JobRow {
  const at = (time: JobInput['runAt']) => (time === undefined ? null : iso(Number(time)))
  return {
    ...{ job_id: jobId, tenant: 'acme', name: 'job', type: input.type, timezone: 'UTC', payload: null, policy: null },
    run_at: input.type === 'ONE_SHOT' ? (at(input.runAt) ?? iso(now)) : null,
    run_local: null,
    delay_ms: input.delayMs ?? null,
    cron: input.schedule ?? null,
    interval: input.interval ?? null,
    anchor: input.type === 'INTERVAL' ? (at(input.anchor) ?? iso(now)) : null,
    ...{ start_at: at(input.startAt), end_at: at(input.endAt), max_fires: input.maxFires ?? null },
    ...{ dst_gap: defaults.dst.gap, dst_overlap: defaults.dst.overlap, day_fields: defaults.dayFields },
    ...{ jitter_sec: input.jitterSec ?? 0 },
    ...{ misfire: input.misfire ?? defaults.misfire, misfire_after_sec: defaults.misfireAfterSec },
    ...{ max_catch_up: defaults.maxCatchUp, grace_sec: null, start_within_sec: null, deadline_sec: null },
    ...{ overlap: defaults.overlap, pool: defaults.pool, lane: 2, handler: input.target.handler!, labels: null },
    ...{ key: null, managed_by: null },
  }
}
