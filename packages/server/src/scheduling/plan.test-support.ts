/** The row of a job as FIRE reads it. Not made by jobs/define.ts: the two folders meet in the store only. */
import { defaults, type JobInput } from '@carillon/contract'
import type { JobDefinition } from '../store/jobs/definition.ts'
import { iso } from '../store/rows.ts'

export function aJob(input: JobInput, jobId: string, now: number): JobDefinition {
  const at = (time: JobInput['runAt']) => (time === undefined ? null : iso(Number(time)))
  return {
    ...{ jobId, tenant: 'acme', name: 'job', type: input.type, timezone: 'UTC', payload: null, policy: null },
    runAt: input.type === 'ONE_SHOT' ? (at(input.runAt) ?? iso(now)) : null,
    runAtLocal: null,
    delayMs: input.delayMs ?? null,
    after: null,
    schedule: input.schedule ?? null,
    interval: input.interval ?? null,
    anchor: input.type === 'INTERVAL' ? (at(input.anchor) ?? iso(now)) : null,
    ...{ startAt: at(input.startAt), endAt: at(input.endAt), maxFires: input.maxFires ?? null },
    ...{ dst: defaults.dst, dayFields: defaults.dayFields },
    ...{ jitterSec: input.jitterSec ?? 0 },
    ...{ misfire: input.misfire ?? defaults.misfire, misfireAfterSec: defaults.misfireAfterSec },
    ...{ maxCatchUp: defaults.maxCatchUp, graceSec: null, startWithinSec: null, deadlineSec: null },
    ...{ overlap: defaults.overlap, pool: defaults.pool, lane: 2, handler: input.target.handler!, labels: null },
    ...{ key: null, managedBy: null },
  }
}
