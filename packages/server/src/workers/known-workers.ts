/**
 * The workers that use this node: identity, owner, and whether they live. A worker may register
 * at one node, lease from another and report to a third; so an unknown one is looked up, and whether another node heard
 * of a worker is asked of liveness, every few seconds for all of them together.
 *
 * What must stay true: a worker that is not heard of gets no new leases, though its request stays open (a process that is
 * stopped keeps its sockets). An outage must lose no worker: silence counts only while this node watched.
 */
import { CarillonError } from '@carillon/contract'
import type { WorkerRegistration } from '@carillon/sdk'
import { poolName } from '../domain/pool-key.ts'
import { Batcher } from '../lib/batcher.ts'
import { monotonicMs } from '../lib/clock.ts'
import type { WorkerLiveness } from '../liveness/port.ts'
import type { Database } from '../store/database.ts'
import { readWorker, registerWorker, removeWorkers } from '../store/workers/register.ts'

export interface KnownWorkersOptions {
  database: Database
  liveness: Pick<WorkerLiveness, 'heard' | 'live'>
  nodeId: string
  heartbeatEveryMs: number
  suspectMs: number
  lostMs: number
  /** Pools that a tenant may have. */
  maxPools: number
  /** A suspected worker was heard of. */
  onLive: (worker: WorkerRegistration) => void
  /** Monotonic milliseconds; for tests. */
  monotonic?: () => number
}

export interface KnownWorker {
  registration: WorkerRegistration
  /** The tenant that registered it; null: a platform worker. */
  owner: string | null
  suspect: boolean
  /** When it last called this node, and when this node last recorded that it lives. */
  heardAt: number
  seenAt: number
}

/** No request is open longer than a minute: after that and `lostMs`, no request of the worker is open here. */
const longestPollMs = 60_000

export class KnownWorkers {
  readonly #options: KnownWorkersOptions
  readonly #workers = new Map<string, KnownWorker>()
  readonly #signsOfLife: Batcher<string, boolean>
  readonly #now: () => number
  #watchingSince = 0
  #watchedAt = Number.NEGATIVE_INFINITY

  constructor(options: KnownWorkersOptions) {
    this.#options = options
    this.#now = options.monotonic ?? monotonicMs
    this.#signsOfLife = new Batcher({ maxItems: () => 1_000, flush: (workerIds) => this.see(workerIds) })
  }

  /** How often `watch` should run. */
  get watchEveryMs(): number {
    return Math.min(3_000, this.#options.suspectMs / 5)
  }

  /** Pools come by name and are kept as the queue tables call them. */
  async register(named: WorkerRegistration, owner: string | null): Promise<void> {
    const { database, nodeId, maxPools } = this.#options
    const { workerId } = named
    const registered = await registerWorker(database, { ...named, nodeId, tenant: owner }, maxPools)
    if (registered.verdict === 'OTHERS') throw unknown(workerId)
    if (registered.verdict === 'FOREIGN_POOLS') throw notYours(named, registered.pools)
    if (registered.verdict === 'TOO_MANY_POOLS') throw tooManyPools(database, registered.limit)
    const { keys } = registered
    const registration = {
      ...named,
      pools: named.pools.map((each) => ({ ...each, pool: keys[each.pool] ?? each.pool })),
    }
    const now = this.#now()
    this.#workers.set(workerId, { registration, owner, suspect: false, heardAt: now, seenAt: now })
  }

  /** The worker, if it is known here or in the database; another owner's is not. */
  async find(workerId: string, owner: string | null): Promise<KnownWorker | null> {
    const worker = this.#workers.get(workerId) ?? (await this.#lookUp(workerId))
    if (!worker || worker.owner !== owner) return null
    worker.heardAt = this.#now()
    return worker
  }

  async require(workerId: string, owner: string | null): Promise<KnownWorker> {
    const worker = await this.find(workerId, owner)
    if (!worker) throw unknown(workerId)
    return worker
  }

  /** As `require`; and the worker must have registered for the pool, wherever it did. Answers what the queue tables call it. */
  async requireServing(workerId: string, owner: string | null, pool: string): Promise<string> {
    const served = ({ registration }: KnownWorker) => registration.pools.find((p) => poolName(p.pool) === pool)?.pool
    const known = served(await this.require(workerId, owner))
    if (known !== undefined) return known
    this.#workers.delete(workerId)
    const stored = served(await this.require(workerId, owner))
    if (stored !== undefined) return stored
    throw new CarillonError('VALIDATION', {
      pointer: '/pool',
      message: `the worker did not register for the pool ${pool}`,
      hint: 'Register it with POST /v1/workers and the same workerId',
    })
  }

  ids(): string[] {
    return [...this.#workers.keys()]
  }

  /** The pools it registered for, if it is known here and this owner's. */
  poolsOf(workerId: string, owner: string | null): string[] {
    const worker = this.#workers.get(workerId)
    return worker?.owner === owner ? worker.registration.pools.map(({ pool }) => pool) : []
  }

  mayLease(workerId: string): boolean {
    return !this.#workers.get(workerId)?.suspect
  }

  /** A call came in. Its heartbeat is recorded now and then, and at once if the worker was suspect. */
  async heard(workerId: string, owner: string | null): Promise<void> {
    const worker = this.#workers.get(workerId)
    if (worker?.owner !== owner) return
    if (worker.suspect || this.#now() - worker.seenAt >= this.#options.heartbeatEveryMs / 2) {
      await this.#signsOfLife.add(workerId)
    }
  }

  /** These workers live. Answers which of them are known to the database. */
  async see(workerIds: string[]): Promise<boolean[]> {
    const seen = await this.#options.liveness.heard(workerIds)
    const now = this.#now()
    for (const workerId of workerIds) {
      const worker = this.#workers.get(workerId)
      if (!worker) continue
      // It was taken for lost and removed, yet it lives: without this its executions would be lost again and again.
      if (!seen.has(workerId)) await this.#registerAgain(worker)
      worker.seenAt = now
      if (!worker.suspect) continue
      worker.suspect = false
      this.#options.onLive(worker.registration)
    }
    return workerIds.map((workerId) => seen.has(workerId))
  }

  async remove(workerIds: string[]): Promise<void> {
    for (const workerId of workerIds) this.#workers.delete(workerId)
    await removeWorkers(this.#options.database, workerIds)
  }

  /** Finds suspect workers. Run every `watchEveryMs`. */
  async watch(): Promise<void> {
    const { liveness, suspectMs, lostMs } = this.#options
    const now = this.#now()
    for (const [workerId, { heardAt }] of this.#workers) {
      if (now - heardAt > lostMs + longestPollMs) this.#workers.delete(workerId)
    }
    if (now - this.#watchedAt > 3 * this.watchEveryMs) this.#watchingSince = now
    const workerIds = [...this.#workers.keys()]
    const live = workerIds.length > 0 ? await liveness.live(workerIds, suspectMs) : new Set()
    this.#watchedAt = now
    if (now - this.#watchingSince < suspectMs) return
    for (const [workerId, worker] of this.#workers) {
      if (live.has(workerId)) {
        if (worker.suspect) this.#options.onLive(worker.registration)
        worker.suspect = false
      } else if (worker.seenAt < now && worker.heardAt < now) worker.suspect = true
    }
  }

  async #registerAgain({ registration, owner }: KnownWorker): Promise<void> {
    try {
      const pools = registration.pools.map((each) => ({ ...each, pool: poolName(each.pool) }))
      await this.register({ ...registration, pools }, owner)
    } catch (error) {
      // Its id belongs to another owner meanwhile: its next call is refused.
      if (!(error instanceof CarillonError)) throw error
      this.#workers.delete(registration.workerId)
    }
  }

  async #lookUp(workerId: string): Promise<KnownWorker | null> {
    const row = await readWorker(this.#options.database, workerId)
    if (!row) return null
    const { tenant, name, pools } = row
    const worker: KnownWorker = {
      registration: { workerId, name, pools },
      ...{ owner: tenant, suspect: false, heardAt: this.#now(), seenAt: Number.NEGATIVE_INFINITY },
    }
    this.#workers.set(workerId, worker)
    return worker
  }
}

function unknown(workerId: string): CarillonError {
  return new CarillonError('WORKER_UNKNOWN', {
    pointer: '/workerId',
    message: `the worker ${workerId} is not registered`,
    hint: 'Register it with POST /v1/workers and the same workerId, then go on',
  })
}

/** `limit`: of the tenant, or of all tenants. */
export function tooManyPools(database: Database, limit: number): CarillonError {
  database.onQuotaExceeded('maxPools')
  return new CarillonError('POOL_LIMIT_REACHED', {
    message: `the tenant would have more than ${limit} pools`,
    hint: 'Delete pools that nothing uses, or ask the operator to raise maxPools of the tenant or maxPoolsPerTenant',
  })
}

function notYours({ pools }: WorkerRegistration, foreign: string[]): CarillonError {
  return new CarillonError(
    'POOL_NOT_YOURS',
    foreign.map((pool) => ({
      pointer: `/pools/${pools.findIndex((p) => p.pool === pool)}/pool`,
      message: `the pool ${pool} belongs to the installation`,
      hint: 'Choose another name for the pool, or serve it with a platform token',
    })),
  )
}
