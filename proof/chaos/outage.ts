/**
 * PostgreSQL is killed with -9 under load and stays away. Nodes and workers must find back by themselves, nothing that was
 * acknowledged may be missing, and work that went on meanwhile must not be taken from its worker: an outage is nobody's fault.
 */
import { setTimeout as after } from 'node:timers/promises'
import { createClient } from '@carillon/sdk'
import type { EngineSettings } from '@carillon/server'
import { poll } from '../../packages/embedded/src/waiting.ts'
import type { Bounds, History } from '../history.ts'
import { Random } from '../simulate/random.ts'
import { aborted, type ChaosResult, nextSecond, settled, tellProgress, tenants } from './chaos.ts'
import { judgeStage } from './judgement.ts'
import { Load } from './load.ts'
import { keepingRecords, type RecordsOptions } from './records.ts'
import { Stage } from './stage.ts'
import { takenAway } from './taken-away.ts'
import { work } from './worker-process.ts'

export interface OutageOptions {
  /** How long the database is away. */
  seconds: number
  seed: number
  nodes: number
  workers: number
  slots: number
  jobs: number
  /** Handlers that run through the whole of it, and as many that end in the middle. */
  long: number
  /** Load before and after. */
  beforeMs: number
  afterMs: number
  engine: EngineSettings
  recoveryMs: number
  bounds: Bounds
  /** Folder of PostgreSQL's programs; those that Carillon brings if not given. */
  postgres?: string
  signal: AbortSignal
  log: (line: string) => void
  records?: RecordsOptions['records']
}

export interface OutageResult extends ChaosResult {
  /** From the database's return until something was fired or finished. */
  backAfterMs: number
}

const leadMs = 2_000

export async function outage(options: OutageOptions): Promise<OutageResult> {
  await using stage = await Stage.open({ ...options, tenants })
  return await keepingRecords(stage, options, () => takeDatabaseAway(stage, options))
}

async function takeDatabaseAway(stage: Stage, options: OutageOptions): Promise<OutageResult> {
  const { seed, seconds, signal, log, recoveryMs, bounds } = options
  const awayMs = seconds * 1_000
  signal.throwIfAborted()
  const startAt = nextSecond() + leadMs
  const to = startAt + options.beforeMs + awayMs + options.afterMs
  const load = new Load({ stage, random: new Random(seed, 'outage'), jobs: options.jobs, from: startAt, to })
  try {
    await load.createJobs()
    const from = Math.max(startAt, nextSecond())
    const long = await submitLong(stage, options, awayMs)
    const loading = load.run()
    using _telling = tellProgress(stage, from, log)
    await after(from + options.beforeMs - Date.now(), undefined, { signal })
    await begun(stage, long)
    const killedAt = Date.now()
    await stage.postgres.kill()
    log(`PostgreSQL is killed, ${long.length} long handlers run; it stays away for ${seconds} s`)
    await after(awayMs, undefined, { signal })
    await stage.postgres.start()
    const backAt = Date.now()
    log('PostgreSQL is back')
    await Promise.race([loading, aborted(signal)])
    signal.throwIfAborted()
    await settled(stage, signal)
    const troubles = [{ kind: 'database killed', from: killedAt, to: backAt }]
    const { signals, unanswered } = load
    const acknowledged = [...load.acknowledged, ...long.map((executionId) => ({ executionId, at: from }))]
    const judgement = await judgeStage(stage, { from, to, acknowledged, signals, troubles, recoveryMs, bounds })
    const { name, check } = takenAway(long)
    const taken = check(judgement.history).map((finding) => ({ checker: name, ...finding }))
    const violations = [...judgement.violations, ...taken]
    const faults = { 'database killed': 1 }
    const backAfterMs = firstSignOfLife(judgement.history, backAt) - backAt
    return { ...judgement, violations, faults, acknowledged: acknowledged.length, unanswered, backAfterMs }
  } finally {
    await load.close()
  }
}

async function submitLong(stage: Stage, { long, beforeMs }: OutageOptions, awayMs: number): Promise<string[]> {
  const token = stage.tokens.tenants.get(tenants[0]!)!
  await using client = createClient({ urls: stage.clientUrls, token })
  const through = { ms: beforeMs + leadMs + awayMs + 3_000 }
  const halfway = { ms: beforeMs + leadMs + awayMs / 2 }
  const payloads = Array.from({ length: 2 * long }, (_, n) => (n % 2 === 0 ? through : halfway))
  return (await client.enqueueMany(work, payloads)).map(({ executionId }) => executionId)
}

async function begun(stage: Stage, ids: string[]): Promise<void> {
  const all = await poll(
    async () => {
      const seen = new Set((await stage.runs()).map(({ executionId }) => executionId))
      return ids.every((id) => seen.has(id)) ? true : undefined
    },
    { everyMs: 200, forMs: 20_000 },
  )
  if (!all) throw new Error('the long handlers did not begin')
}

function firstSignOfLife({ executions, to }: History, after: number): number {
  return executions.reduce((first, { firedAt, finishedAt }) => {
    const signs = [firedAt, finishedAt ?? firedAt].filter((at) => at >= after)
    return Math.min(first, ...signs)
  }, to)
}
