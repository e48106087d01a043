/**
 * An operator, or a failover tool, ends every connection to the database, again and again, under load. No node may end because
 * of it (a seat keeps how a process ended), nothing acknowledged may be lost, and nothing may succeed twice.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { EngineSettings } from '@carillon/server'
import type { Bounds } from '../history.ts'
import { Random } from '../simulate/random.ts'
import { aborted, type ChaosResult, nextSecond, settled, tellProgress, tenants } from './chaos.ts'
import { judgeStage } from './judgement.ts'
import { Load } from './load.ts'
import { keepingRecords, type RecordsOptions } from './records.ts'
import { Stage } from './stage.ts'

export interface TerminateStormOptions {
  /** How long connections are ended. */
  seconds: number
  everyMs: number
  seed: number
  nodes: number
  workers: number
  slots: number
  jobs: number
  /** Load after the last of it. */
  afterMs: number
  engine: EngineSettings
  recoveryMs: number
  bounds: Bounds
  /** Folder of PostgreSQL's programs; those that Carillon brings if not given. */
  postgres?: string
  records?: RecordsOptions['records']
  signal: AbortSignal
  log: (line: string) => void
}

const leadMs = 2_000
const terminateAll = `select count(pg_terminate_backend(pid))::int n from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

export async function terminateStorm(options: TerminateStormOptions): Promise<ChaosResult> {
  await using stage = await Stage.open({ ...options, tenants })
  return await keepingRecords(stage, options, () => terminateConnections(stage, options))
}

async function terminateConnections(stage: Stage, options: TerminateStormOptions): Promise<ChaosResult> {
  const { seed, seconds, everyMs, signal, log, recoveryMs, bounds } = options
  signal.throwIfAborted()
  const startAt = nextSecond() + leadMs
  const to = startAt + seconds * 1_000 + options.afterMs
  const load = new Load({ stage, random: new Random(seed, 'storm'), jobs: options.jobs, from: startAt, to })
  try {
    await load.createJobs()
    const from = Math.max(startAt, nextSecond())
    await after(from - Date.now(), undefined, { signal })
    const loading = load.run()
    using _telling = tellProgress(stage, from, log)
    const storm = { kind: 'connections terminated', from: Date.now(), to: 0 }
    let terminated = 0
    let times = 0
    while (Date.now() < from + seconds * 1_000) {
      const rows = await stage.query<{ n: number }>(terminateAll).catch(() => [])
      terminated += rows[0]?.n ?? 0
      times++
      await after(everyMs, undefined, { signal })
    }
    storm.to = Date.now()
    log(`${terminated} connections were terminated, in ${times} rounds`)
    await Promise.race([loading, aborted(signal)])
    signal.throwIfAborted()
    await settled(stage, signal)
    const { acknowledged, signals, unanswered } = load
    const observed = { from, to, acknowledged, signals, troubles: [storm], recoveryMs, bounds }
    const judgement = await judgeStage(stage, observed)
    return { ...judgement, faults: { [storm.kind]: terminated }, acknowledged: acknowledged.length, unanswered }
  } finally {
    await load.close()
  }
}
