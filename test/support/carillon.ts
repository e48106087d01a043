/** A Carillon node on a database of its own, for a test. Short times, so that nothing in a test has to wait for long. */
import { type Carillon, type CarillonOptions, createCarillon } from '@carillon/server'
import { createDatabase } from './postgres.ts'

/** Times that make loss, take-over and sweeping quick enough to watch. */
export const quickTimes = {
  leaseMs: 600,
  renewEveryMs: 100,
  statementTimeoutMs: 550,
  pollMs: 100,
  heartbeatEveryMs: 100,
  workerLostMs: 1_000,
  sweepEveryMs: 50,
  figuresEveryMs: 100,
} as const

/** For tests in which no node and no worker is lost: a loaded machine that is slow neither loses a lease nor has a statement cancelled. */
export const ampleTimes = { leaseMs: 20_000, statementTimeoutMs: 15_000 } as const

/** Polls and sweeps as often as with `quickTimes`. */
export const promptTimes = {
  ...ampleTimes,
  pollMs: quickTimes.pollMs,
  heartbeatEveryMs: quickTimes.heartbeatEveryMs,
  sweepEveryMs: quickTimes.sweepEveryMs,
  figuresEveryMs: quickTimes.figuresEveryMs,
} as const

export interface TestCarillon {
  carillon: Carillon
  databaseUrl: string
  /** Another node on the same database; stopped with the first. */
  another(options?: Partial<CarillonOptions>): Promise<Carillon>
  [Symbol.asyncDispose](): Promise<void>
}

/** `prepare` registers handlers; the node is started after it. */
export async function testCarillon(
  prepare: (carillon: Carillon) => void = () => {},
  options: Partial<CarillonOptions> = {},
): Promise<TestCarillon> {
  const database = await createDatabase()
  const nodes: Carillon[] = []
  const another = async (more: Partial<CarillonOptions> = {}) => {
    const node = await createCarillon({ databaseUrl: database.url, logLevel: 'error', ...options, ...more })
    nodes.push(node)
    return node
  }
  const carillon = await another()
  prepare(carillon)
  await carillon.start()
  return {
    carillon,
    databaseUrl: database.url,
    another,
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node.stop({ drainSec: 1 })
      await database.drop()
    },
  }
}
