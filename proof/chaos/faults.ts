/**
 * What is done to an installation. Each fault chooses its victims by the seed, does its harm for a while and mends it again.
 * A worker is paused for longer than it may be silent, a node for longer than its lease. An answer of false means that there
 * was nobody to be harmed.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { Random } from '../simulate/random.ts'
import { exhaustConnections, holdTransaction } from './database-faults.ts'
import type { Seat } from './seat.ts'
import type { Stage } from './stage.ts'
import type { TcpProxy } from './tcp-proxy.ts'

export interface FaultSite {
  stage: Stage
  random: Random
  leaseMs: number
  workerLostMs: number
  /** The run is being ended: what waits goes on at once. */
  signal: AbortSignal
  /** Names who is hit. */
  tell: (victim: string) => void
}

export type Fault = (site: FaultSite) => Promise<boolean>

const lockable = [
  { table: 'schedules', rows: 30 },
  { table: 'leases', rows: 20 },
  { table: 'shards', rows: 6 },
]

export const faults = {
  'node killed': (site) => kill(site, nodesOf(site)),
  'node paused': (site) => stop(site, nodesOf(site), site.leaseMs + site.random.whole(500, 3_000)),
  'worker killed': (site) => kill(site, workersOf(site)),
  'worker paused': (site) => stop(site, workersOf(site), site.workerLostMs + site.random.whole(500, 2_500)),
  'database killed': async (site) => {
    const { postgres } = site.stage
    if (!postgres.isUp) return false
    site.tell('PostgreSQL')
    await postgres.kill()
    await pause(site, site.random.whole(200, 2_000))
    await postgres.start()
    return true
  },
  'database way cut': (site) => cut(site, databaseWay(site)),
  'database way held': (site) => hold(site, databaseWay(site), site.random.whole(2_000, 8_000)),
  'worker way cut': (site) => cut(site, workerWays(site)),
  'worker way held': (site) => hold(site, workerWays(site), site.random.whole(2_000, 6_000)),
  'snapshot held': (site) =>
    holdTransaction(site, {
      what: 'a snapshot',
      begin: 'begin isolation level repeatable read',
      take: 'select count(*) from carillon.executions',
      forMs: site.random.whole(3_000, 8_000),
    }),
  'rows locked': async (site) => {
    const held = await Promise.all(
      lockable.map(({ table, rows }) =>
        holdTransaction(site, {
          what: `${rows} rows of ${table}`,
          begin: 'begin',
          take: `select from carillon.${table} order by random() limit ${rows} for update`,
          forMs: site.random.whole(800, 2_000),
        }),
      ),
    )
    return held.every(Boolean)
  },
  'connections exhausted': exhaustConnections,
  'clock skewed': async (site) => {
    const { random, tell } = site
    const wallMs = random.pick([-1, 1]) * random.whole(500, 120_000)
    const monotonicMs = random.pick([0, 400, 3_000])
    return upon(site, nodesOf(site), async (seat) => {
      tell(`${seat.name} by ${wallMs} ms, its monotonic clock by ${monotonicMs} ms`)
      seat.tell({ skew: { wallMs, monotonicMs } })
      await pause(site, random.whole(2_000, 5_000))
      seat.tell({ skew: { wallMs: 0, monotonicMs: 0 } })
    })
  },
} satisfies Record<string, Fault>

export const faultKinds = Object.keys(faults) as (keyof typeof faults)[]

function nodesOf({ stage }: FaultSite): Seat[] {
  return stage.nodes.map(({ seat }) => seat)
}

function workersOf({ stage }: FaultSite): Seat[] {
  return stage.workers.map(({ seat }) => seat)
}

/** Of the seats one that is up and that no other fault is at. */
async function upon({ random }: FaultSite, seats: Seat[], harm: (seat: Seat) => Promise<void>): Promise<boolean> {
  const free = seats.filter(({ isUp, taken }) => isUp && !taken)
  if (free.length === 0) return false
  const seat = random.pick(free)
  seat.taken = true
  try {
    await harm(seat)
  } finally {
    seat.taken = false
  }
  return true
}

function kill(site: FaultSite, seats: Seat[]): Promise<boolean> {
  return upon(site, seats, async (seat) => {
    site.tell(seat.name)
    await seat.kill()
    await pause(site, site.random.whole(100, 2_000))
    await seat.start()
  })
}

function stop(site: FaultSite, seats: Seat[], forMs: number): Promise<boolean> {
  return upon(site, seats, async (seat) => {
    site.tell(`${seat.name} for ${forMs} ms`)
    seat.signal('SIGSTOP')
    await pause(site, forMs)
    seat.signal('SIGCONT')
  })
}

export interface Ways {
  between: string
  proxies: readonly TcpProxy[]
}

function databaseWay({ stage, random }: FaultSite): Ways {
  const { seat, toDatabase } = random.pick(stage.nodes)
  return { between: `${seat.name} and PostgreSQL`, proxies: [toDatabase] }
}

/** All ways of one worker, or those of all workers to one node. */
function workerWays({ stage, random }: FaultSite): Ways {
  if (random.chance(0.5)) {
    const { seat, toNodes } = random.pick(stage.workers)
    return { between: `${seat.name} and the nodes`, proxies: toNodes }
  }
  const n = random.whole(0, stage.nodes.length - 1)
  const proxies = stage.workers.map(({ toNodes }) => toNodes[n]!)
  return { between: `the workers and ${stage.nodes[n]!.seat.name}`, proxies }
}

/** Several times in a row: what was just connected again is cut too. */
export async function cut(site: FaultSite, { between, proxies }: Ways): Promise<boolean> {
  const times = site.random.whole(1, 4)
  site.tell(`between ${between}, ${times} times`)
  for (let n = 0; n < times; n++) {
    for (const proxy of proxies) proxy.cut()
    await pause(site, site.random.whole(20, 500))
  }
  return true
}

export async function hold(site: FaultSite, { between, proxies }: Ways, forMs: number): Promise<boolean> {
  const how = site.random.pick(['PASS_ON', 'RESET'] as const)
  site.tell(`between ${between} for ${forMs} ms, then ${how === 'RESET' ? 'reset' : 'passed on'}`)
  for (const proxy of proxies) proxy.hold()
  await pause(site, forMs)
  for (const proxy of proxies) proxy.letGo(how)
  return true
}

export async function pause({ signal }: Pick<FaultSite, 'signal'>, ms: number): Promise<void> {
  await after(ms, undefined, { signal }).catch(() => {})
}
