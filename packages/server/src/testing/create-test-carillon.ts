/** Puts a test Carillon together: the real engine and a real worker on a database and a clock of the test's own. */
import { type RegisteredHandler, Worker } from '@carillon/sdk'
import { engineConfig } from '../config/engine-config.ts'
import { monotonicMs } from '../lib/clock.ts'
import { completeIn } from '../library/complete-in.ts'
import { Engine } from '../main.ts'
import { LocalSignals } from '../signals/local.ts'
import { directTransport } from '../workers/direct-transport.ts'
import { createTestDatabase, installation, setClock, setOut, type TestDatabase } from './databases.ts'
import { Faults } from './faults.ts'
import { type CheckedOptions, checkTestOptions, type TestCarillonOptions } from './options.ts'
import { RunLog } from './run-log.ts'
import { runPool, runSlots, runWorker } from './run-worker.ts'
import { sharedServer } from './server.ts'
import { Settling } from './settling.ts'
import { neverMs, SpareWorkers } from './spare-workers.ts'
import { TestCarillon } from './test-carillon.ts'
import { VirtualClock } from './time.ts'
import { VirtualDatabase } from './virtual-database.ts'
import { VirtualKeepAlive } from './virtual-keep-alive.ts'
import { VirtualLiveness } from './virtual-liveness.ts'
import { watched } from './watched-handlers.ts'
import { watchedTransport } from './watched-transport.ts'

/** Loops of the engine that run by real time do so seldom: what they do is done by hand. */
const settings = {
  nodeName: 'test',
  ...installation,
  leaseMs: 60_000,
  renewEveryMs: 30_000,
  statementTimeoutMs: 30_000,
  pollMs: 60_000,
  windowMs: 60_000,
  sweepEveryMs: 60_000,
}
/** Speed-up of the workers' time once the test is over: a handler that ignores its abort is soon given up. */
const hurry = 1_000_000

/**
 * A Carillon for one test, on a virtual clock. It is running when this resolves.
 *
 * @example
 * ```ts
 * import { createTestCarillon, implementHandler } from '@carillon/server/testing'
 * import { defineHandler } from '@carillon/server'
 *
 * const report = defineHandler<{ day: string }>({ name: 'report' })
 * const reporting = implementHandler(report, async (ctx) => `report of ${ctx.payload.day}`)
 *
 * await using carillon = await createTestCarillon({ now: '2026-03-28T23:59:00Z', handlers: [reporting] })
 * await carillon.schedule(report, { day: 'yesterday' }, { cron: '30 2 * * *', timezone: 'Europe/Berlin' })
 * await carillon.advance('P2D')
 * carillon.runs().map((run) => run.startedAt.toISOString()) // 2026-03-29T01:30:00.000Z, 2026-03-30T00:30:00.000Z
 * ```
 */
export async function createTestCarillon(options: TestCarillonOptions): Promise<TestCarillon> {
  const wanted = checkTestOptions(options)
  const server = wanted.databaseUrl ?? (await sharedServer())
  const home = await createTestDatabase(server, { waitsForDisk: wanted.databaseUrl !== undefined })
  try {
    return await assemble(home, wanted)
  } catch (error) {
    await home.drop()
    throw error
  }
}

async function assemble(home: TestDatabase, wanted: CheckedOptions): Promise<TestCarillon> {
  const { now: startsAt, settleMs, patienceMs, logger, tenant, handlers } = wanted
  const clock = new VirtualClock(startsAt)
  const database = new VirtualDatabase(home.url, clock)
  const keepAlive = new VirtualKeepAlive(database)
  const engine = new Engine(engineConfig({ ...settings, databaseUrl: home.url }), logger, {
    parts: {
      database,
      clock,
      signals: new LocalSignals(logger),
      keepAlive: () => keepAlive,
      liveness: new VirtualLiveness({ database, keepAlive, logger, everyMs: 60_000, lostMs: 60_000 }),
      chance: () => 0,
    },
  })

  let closedAt: number | null = null
  const workerClock = {
    now: () => clock.now() + (closedAt === null ? 0 : (monotonicMs() - closedAt) * hurry),
  }
  const concurrencyOf = (name: string) => handlers.find((h) => h.definition.name === name)?.concurrency ?? 10
  const log = new RunLog({ clock, concurrencyOf, settleMs, patienceMs })
  const watchedHandlers = handlers.map((handler) => watched(handler, log, (entry) => faults.diesAtCommit(entry)))
  const running = {
    clock: workerClock,
    completeIn,
    completeInModule: new URL('../library/complete-in.ts', import.meta.url).href,
    logger,
  }
  const spares = new SpareWorkers({ handlers: watchedHandlers, clock, worker: running })
  const faults: Faults = new Faults({ engine, log, handlers, spares })
  const transport = watchedTransport(directTransport(engine), { database, log, faults })
  const ofRuns = runWorker({
    ...{ clock: workerClock, logger, runs: engine.startedRuns },
    transport: watchedTransport(directTransport(engine, { exact: true }), { database, log, faults: null }),
  })
  const worker =
    handlers.length === 0
      ? null
      : new Worker({ ...running, transport, handlers: watchedHandlers, prefetch: 0, reportEveryMs: neverMs })
  const workers = worker === null ? [ofRuns] : [worker, ofRuns]

  const close = async () => {
    closedAt = monotonicMs()
    engine.ends.close()
    await Promise.all([...workers.map((each) => each.stop({ drainSec: 0 })), spares.stop()])
    await engine.stop()
    await home.drop()
  }
  const parts = {
    ...{ engine, tenant, databaseUrl: home.url, handlers, log, faults, close },
    settling: new Settling({
      ...{ engine, log, faults, settleMs, slots: slotsOf(handlers) },
      workerIds: workers.map(({ workerId }) => workerId),
      tick: () => Math.min(...workers.map((each) => each.tick()), spares.tick()),
    }),
    async setTime(at: number) {
      await Promise.all([keepAlive.seeWorkers(new Date(at)), setClock(database, new Date(at))])
      await database.setTime(at)
    },
  }
  try {
    await setOut(database, new Date(startsAt))
    await engine.start()
    for (const each of workers) await each.start()
    return new TestCarillon(parts)
  } catch (error) {
    await close()
    throw error
  }
}

function slotsOf(handlers: readonly RegisteredHandler[]): Map<string, number> {
  const slots = new Map<string, number>([[runPool, runSlots]])
  for (const { definition, concurrency = 10 } of handlers) {
    slots.set(definition.pool, (slots.get(definition.pool) ?? 0) + concurrency)
  }
  return slots
}
