/**
 * An installation of real processes under load, disturbed by everything that can happen to it, then healed. Afterwards the
 * ledger, what the workers wrote down, and what the client was told must fit together: see proof/checkers.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { EngineSettings } from '@carillon/server'
import { poll } from '../../packages/embedded/src/waiting.ts'
import type { Bounds } from '../history.ts'
import { Random } from '../simulate/random.ts'
import { planFaults } from './fault-plan.ts'
import { type FaultKind, FaultRunner } from './fault-runner.ts'
import { type Judgement, judgeStage } from './judgement.ts'
import { Load } from './load.ts'
import { keepingRecords, type RecordsOptions } from './records.ts'
import type { ScaleOut } from './scale-out.ts'
import { Stage } from './stage.ts'

export interface ChaosOptions {
  seconds: number
  seed: number
  nodes: number
  workers: number
  slots: number
  jobs: number
  kinds: readonly FaultKind[]
  /** How often each kind comes. */
  rounds: number
  /** At the end of every round nothing begins for so long. */
  quietMs?: number
  /** At the end nothing is disturbed for so long, while work goes on. */
  calmMs: number
  engine: EngineSettings & { leaseMs: number; workerLostMs: number }
  recoveryMs: number
  bounds: Bounds
  /** Folder of PostgreSQL's programs; those that Carillon brings if not given. */
  postgres?: string
  /** Servers that the nodes use besides PostgreSQL; the caller ends them. */
  scaleOut?: ScaleOut
  /** Deliberate defects, put in before anything runs: they must be found. */
  sabotage?: (stage: Stage) => Promise<void>
  signal: AbortSignal
  log: (line: string) => void
  records?: RecordsOptions['records']
}

export interface ChaosResult extends Judgement {
  /** Where the records of a failing run are. */
  records?: string
  /** Done, by kind. */
  faults: Record<string, number>
  acknowledged: number
  unanswered: number
}

export const tenants = ['amber', 'birch', 'cedar', 'dahlia', 'elder']
/** Jobs begin to fire so long after they are asked for. */
const leadMs = 2_000
const tellEveryMs = 5_000
const settleForMs = 120_000

export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  await using stage = await Stage.open({ ...options, tenants })
  return await keepingRecords(stage, options, () => disturb(stage, options))
}

async function disturb(stage: Stage, options: ChaosOptions): Promise<ChaosResult> {
  const { seed, seconds, signal, log, engine, recoveryMs, bounds } = options
  const random = new Random(seed, 'chaos')
  signal.throwIfAborted()
  await options.sabotage?.(stage)
  const startAt = nextSecond() + leadMs
  const to = startAt + seconds * 1_000
  const load = new Load({ stage, random: random.fork('load'), jobs: options.jobs, from: startAt, to })
  try {
    await load.createJobs()
    // What was due before the last job was there is not judged.
    const from = Math.max(startAt, nextSecond())
    log(`${options.jobs} jobs on ${options.nodes} nodes with ${options.workers} workers, seed ${seed}`)
    await after(from - Date.now(), undefined, { signal })
    const loading = load.run()
    using _telling = tellProgress(stage, from, log)
    const runner = new FaultRunner({
      site: {
        stage,
        random: random.fork('faults'),
        signal,
        leaseMs: engine.leaseMs,
        workerLostMs: engine.workerLostMs,
      },
      ...{ from, log },
    })
    const time = {
      fromMs: Math.min(5_000, seconds * 50),
      toMs: seconds * 1_000 - options.calmMs,
      rounds: options.rounds,
      quietMs: options.quietMs,
    }
    await runner.run(planFaults(options.kinds, time, random.fork('plan')))
    signal.throwIfAborted()
    await stage.heal()
    await Promise.race([loading, aborted(signal)])
    signal.throwIfAborted()
    log('nothing more is asked for; what is left is waited for')
    await settled(stage, signal)
    const { troubles } = runner
    const { acknowledged, signals, unanswered } = load
    const judgement = await judgeStage(stage, { from, to, acknowledged, signals, troubles, recoveryMs, bounds })
    return { ...judgement, faults: runner.counts(), acknowledged: acknowledged.length, unanswered }
  } finally {
    await load.close()
  }
}

export function nextSecond(): number {
  return Math.ceil(Date.now() / 1_000) * 1_000
}

const leftSql = `
  select (select count(*) from carillon.ready) + (select count(*) from carillon.running)
    + (select count(*) from carillon.retries) + (select count(*) from carillon.waiting)
    + (select count(*) from carillon.blocked)
    + (select count(*) from carillon.submissions) + (select count(*) from carillon.schedules where due is not null) n`

/** Whatever is left after that time is judged as it stands. */
export async function settled(stage: Stage, signal: AbortSignal): Promise<void> {
  await poll(
    async () => {
      signal.throwIfAborted()
      const rows = await stage.query<{ n: string }>(leftSql).catch(() => [])
      return rows.length > 0 && Number(rows[0]!.n) === 0 ? true : undefined
    },
    { everyMs: 200, forMs: settleForMs },
  )
}

/** Until it is disposed of. */
export function tellProgress(stage: Stage, from: number, log: (line: string) => void): Disposable {
  const ending = new AbortController()
  const tell = async () => {
    const rows = await stage.query<{ n: string }>('select count(*) n from carillon.executions').catch(() => [])
    const second = Math.round((Date.now() - from) / 1_000)
    log(`${second} s  ${rows.length > 0 ? `${rows[0]!.n} executions` : 'the database does not answer'}`)
  }
  void (async () => {
    for (;;) {
      await after(tellEveryMs, undefined, { signal: ending.signal })
      await tell()
    }
  })().catch(() => {})
  return { [Symbol.dispose]: () => ending.abort() }
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
