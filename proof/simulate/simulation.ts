/**
 * One seed from beginning to end: an installation of some nodes and workers, a quiet start, troubles, healing, and a while
 * of health; then every job is paused, what is under way ends, and the run is judged.
 */
import { isTransient } from '../../packages/server/src/store/trouble.ts'
import { brokenInvariants, brokenOverlap } from '../../test/support/store-invariants.ts'
import { countGraphs, type GraphCounts } from '../graph-counts.ts'
import type { Run, Violation } from '../history.ts'
import { replaceGlobals } from './globals.ts'
import { type Ground, installation } from './ground.ts'
import { judgeRun } from './judge.ts'
import { Load } from './load.ts'
import { FaultLog, Network } from './network.ts'
import { SimulatedNode, type Surroundings } from './node.ts'
import { Postgres } from './postgres.ts'
import { Random } from './random.ts'
import { Sessions } from './sessions.ts'
import { SignalBus } from './signals.ts'
import { startTime } from './start-times.ts'
import { Trace } from './trace.ts'
import { drawClock, Troubles } from './troubles.ts'
import type { Variant } from './variants/variant.ts'
import { SimulatedWorker } from './worker.ts'
import { World } from './world.ts'

/** Shorter than in production where that takes long (workers are lost after 7 s), longer where it only costs statements. */
const settings = {
  ...{ leaseMs: 3_000, renewEveryMs: 1_400, lifeMs: 4_000, statementTimeoutMs: 1_800, pollMs: 3_000, windowMs: 6_000 },
  ...{ heartbeatEveryMs: 2_000, workerLostMs: 7_000, workerSuspectMs: 4_500, sweepEveryMs: 2_000, maxPollMs: 20_000 },
  ...installation,
} as const

/** What was stopped goes on, is lost, is tried again: longer than that a trouble is not felt. */
const recoveryMs = 20_000
const healthyMs = 27_000
/** A client waits that long for an answer at most. */
const inFlightMs = 8_500
const drainMs = 150_000
const watchEveryMs = 10_000
/** The time after which a worker is lost; the longest time until another node has taken over and sweeps; one more sweep. */
const lostMs = settings.workerLostMs + 7_000 + settings.sweepEveryMs
/** See packages/server/src/queue/ready-position.ts. */
const readAllMs = 60_000

export interface SeedReport {
  seed: number
  digest: string
  violations: Violation[]
  fired: number
  executions: number
  lost: number
  doubled: number
  longestGapMs: number
  /** What runs of graphs and jobs after others came to. */
  graphs: GraphCounts
  faults: Record<string, number>
  lastFaults: string[]
  done: Record<string, number>
  statements: number
  events: number
  virtualMs: number
  realMs: number
}

export async function simulate(ground: Ground, seed: number, variant: Variant | null = null): Promise<SeedReport> {
  const began = performance.now()
  const random = new Random(seed)
  const start = startTime(random.fork('start'))
  await ground.clear(start.at)
  const world = new World(start.at)
  const run = new SimulationRun(ground, world, random, variant)
  const restore = replaceGlobals(world, random.fork('globals'))
  try {
    await run.live(start)
  } finally {
    restore()
  }
  return { seed, ...(await run.judge()), realMs: performance.now() - began }
}

class SimulationRun {
  readonly #ground: Ground
  readonly #world: World
  readonly #random: Random
  readonly #variant: Variant | null
  readonly #startAt: number
  readonly #faults: FaultLog
  readonly #postgres: Postgres
  readonly #trace: Trace
  readonly #network: Network
  readonly #runs: Run[] = []
  readonly #violations: Violation[] = []
  #load: Load | null = null
  #troubles: Troubles | null = null
  #over = false

  constructor(ground: Ground, world: World, random: Random, variant: Variant | null) {
    this.#ground = ground
    this.#world = world
    this.#random = random
    this.#variant = variant
    this.#startAt = world.now
    this.#faults = new FaultLog(world)
    this.#postgres = new Postgres(world, ground.connections)
    this.#trace = new Trace(world, installation.shardCount)
    this.#network = new Network({ world, faults: this.#faults, random: random.fork('network') })
  }

  async live(start: ReturnType<typeof startTime>): Promise<void> {
    const world = this.#world
    const network = this.#network
    const fork = (name: string) => this.#random.fork(name)
    const nodes = this.#nodes()
    const workers = [1, 2, 3].slice(0, fork('size').whole(2, 3)).map(
      (n) =>
        new SimulatedWorker(`worker-${n}`, {
          ...{ world, network, nodes, random: fork(`worker ${n}`), runs: this.#runs },
          isTroubled: () => !this.#troubles!.isOver,
          heartbeatsApart: this.#variant?.heartbeatsApart ?? false,
          onError: (message) => this.#noteError(message),
        }),
    )
    const onDefect = (problem: string) => this.#violated('clients-are-answered', 'client', problem)
    const load = new Load({ world, network, nodes, random: fork('load'), start, onDefect })
    const watcher = async () => {
      const [shard] = await this.#ask('select node_id::text from carillon.shards where shard = 0')
      return (shard?.node_id as string | null | undefined) ?? null
    }
    const troubles = new Troubles({
      world,
      network,
      faults: this.#faults,
      random: fork('troubles'),
      nodes,
      workers,
      watcher,
    })
    this.#load = load
    this.#troubles = troubles
    const onRejection = (error: unknown) => this.#violated('no-loose-ends', 'a promise', String(error))
    process.on('unhandledRejection', onRejection)
    try {
      const clocks = fork('clocks')
      for (const node of nodes) node.start(drawClock(clocks))
      void this.#drive({ nodes, workers, load, troubles, clocks })
      await world.run(() => this.#over)
    } finally {
      process.off('unhandledRejection', onRejection)
    }
  }

  async judge(): Promise<Omit<SeedReport, 'seed' | 'realMs'>> {
    const trace = this.#trace
    const { history, violations } = await judgeRun(this.#ground, {
      ...{ from: this.#startAt, to: this.#world.now, spans: trace.spans, leases: trace.leases, runs: this.#runs },
      ...{ acknowledged: this.#load!.acknowledged, troubles: this.#troubles!.list, recoveryMs, slackMs: 5 },
      ...{ silenced: this.#troubles!.silenced, signals: this.#load!.signals },
      // Without a hint, what a node wrote that had been cut off for long is found when `ready` is read from its beginning.
      bounds: { fireMs: 5_000, startMs: this.#troubles!.losesHints ? readAllMs + 6_000 : 6_000, lostMs },
    })
    this.#world.note(JSON.stringify(history.executions))
    const all = [...this.#violations, ...trace.violations, ...violations]
    const count = (...names: string[]) => all.filter(({ checker }) => names.includes(checker)).length
    return {
      ...{ violations: all, digest: this.#world.digest(), fired: trace.fired, executions: history.executions.length },
      lost: count('acknowledged-is-kept', 'everything-ends', 'occurrences-missed'),
      doubled: count('succeeds-once', 'submitted-once', 'occurrences-doubled'),
      graphs: countGraphs(history),
      ...{ longestGapMs: trace.longestGapMs, faults: this.#faults.counts, lastFaults: this.#faults.last },
      ...{ done: this.#load!.done, statements: this.#postgres.count, events: this.#world.events },
      virtualMs: this.#world.now - this.#startAt,
    }
  }

  #nodes(): SimulatedNode[] {
    const world = this.#world
    const network = this.#network
    const postgres = this.#postgres
    const around: Surroundings = {
      ...{ world, network, postgres, faults: this.#faults, trace: this.#trace },
      sessions: new Sessions({ world, network, postgres }),
      bus: new SignalBus({ world, network }),
      settings: { ...settings, ...this.#variant?.settings },
      tamper: this.#variant?.tamper?.(world, this.#random.fork('variant')),
      logger: {
        ...{ debug() {}, info() {} },
        warn: (fields, message) => {
          const { err } = fields as { err?: unknown }
          if (err !== undefined && !isTransient(err)) this.#noteError(`${message}: ${err}`)
        },
        error: (fields, message) => this.#noteError(`${message} ${JSON.stringify(fields)}`),
      },
    }
    return [1, 2, 3].slice(0, this.#random.fork('nodes').whole(2, 3)).map((n) => new SimulatedNode(`node-${n}`, around))
  }

  /** The course of the run. */
  async #drive(parts: {
    nodes: SimulatedNode[]
    workers: SimulatedWorker[]
    load: Load
    troubles: Troubles
    clocks: Random
  }): Promise<void> {
    const world = this.#world
    const { nodes, workers, load, troubles, clocks } = parts
    while (!nodes.every((node) => node.isReady)) await world.sleep(50)
    for (const worker of workers) worker.start(drawClock(clocks))
    load.begin()
    troubles.begin(clocks.whole(20_000, 45_000))
    void this.#watch()
    while (!troubles.isOver) await world.sleep(100)
    await world.sleep(healthyMs - inFlightMs)
    load.close()
    await world.sleep(inFlightMs)
    const drainedBy = world.now + drainMs
    world.later(drainMs, () => {
      this.#over = true
    })
    await load.pauseAll(await this.#active())
    while (world.now < drainedBy && !(await this.#isDrained())) await world.sleep(500)
    this.#over = true
  }

  /** What must be true between any two transactions. */
  async #watch(): Promise<void> {
    const unchanged = `select x.* from (${brokenOverlap}) x join carillon.jobs j on j.job_id = x.execution_id where j.version = 1`
    while (!this.#over) {
      await this.#world.sleep(watchEveryMs)
      for (const sql of [brokenInvariants, unchanged]) {
        for (const { execution_id, problem } of await this.#ask(sql)) {
          this.#violated('store-invariants', String(execution_id), String(problem))
        }
      }
    }
  }

  async #active(): Promise<{ jobId: string; tenant: string }[]> {
    const sql = `select job_id "jobId", tenant from carillon.jobs where state = 'ACTIVE' and type in ('CRON', 'INTERVAL') order by 1`
    return (await this.#ask(sql)) as { jobId: string; tenant: string }[]
  }

  async #isDrained(): Promise<boolean> {
    const rows = await this.#ask(`select
      not exists (select from carillon.ready) and not exists (select from carillon.running)
      and not exists (select from carillon.retries) and not exists (select from carillon.waiting)
      and not exists (select from carillon.blocked)
      and not exists (select from carillon.submissions) and not exists (select from carillon.schedules where due is not null)
      and not exists (select from carillon.operations where state = 'RUNNING') drained`)
    return rows[0]!.drained === true
  }

  #ask(sql: string): Promise<Record<string, unknown>[]> {
    return new Promise((resolve) => {
      this.#world.outside(0, async () => resolve(await this.#ground.ask(sql)))
    })
  }

  #noteError(problem: string): void {
    if (!problem.startsWith('outcomes could not be reported')) this.#violated('no-errors-logged', 'log', problem)
  }

  #violated(checker: string, subject: string, problem: string): void {
    const same = (v: Violation) => v.checker === checker && v.subject === subject
    if (!this.#violations.some(same)) this.#violations.push({ checker, subject, problem })
  }
}
