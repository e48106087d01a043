/**
 * The slots of a built-in target are shared between tenants: one may take a slot only while it holds fewer than are free. So
 * one tenant alone gets half of them, two get a third each, and for the next one that comes there is always one left, however
 * long the requests of the others take. (In networks this is known as dynamic thresholds for a shared buffer.)
 *
 * The queue of a pool does not know tenants. What is leased beyond a tenant's share is handed back at once, uses no attempt
 * and returns after a while; meanwhile the worker asks for little at a time, so that a tenant with a long backlog does not
 * cause a stream of leases and hand-backs.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { LeasedExecution } from '@carillon/contract'
import type { LeaseAnswer, Transport } from '@carillon/sdk'
import { monotonicMs } from '../lib/clock.ts'

/** After a hand-back: probe size and interval. */
const fewSlots = 10
const pauseMs = 250

export class TenantShare {
  readonly #slots: number
  readonly #running = new Map<string, number>()
  #total = 0

  constructor(slots: number) {
    this.#slots = slots
  }

  /** Runs it on a slot of the tenant. */
  async run<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    this.#add(tenant, 1)
    try {
      return await work()
    } finally {
      this.#add(tenant, -1)
    }
  }

  /** Of executions that were leased just now: those that may run, and those beyond their tenant's share. */
  split(executions: LeasedExecution[]): { within: LeasedExecution[]; beyond: LeasedExecution[] } {
    const taken = new Map<string, number>()
    let total = this.#total
    const within: LeasedExecution[] = []
    const beyond: LeasedExecution[] = []
    for (const execution of executions) {
      const { tenant } = execution
      const own = (this.#running.get(tenant) ?? 0) + (taken.get(tenant) ?? 0)
      if (own > 0 && own >= this.#slots - total) {
        beyond.push(execution)
        continue
      }
      within.push(execution)
      taken.set(tenant, (taken.get(tenant) ?? 0) + 1)
      total++
    }
    return { within, beyond }
  }

  #add(tenant: string, change: 1 | -1): void {
    const count = (this.#running.get(tenant) ?? 0) + change
    if (count === 0) this.#running.delete(tenant)
    else this.#running.set(tenant, count)
    this.#total += change
  }
}

/** A transport that gives the worker only what its tenants' shares allow. `shares`: by pool. */
export function sharedTransport(transport: Transport, shares: ReadonlyMap<string, TenantShare>): Transport {
  const carefulUntil = new Map<string, number>()
  const handBack = (workerId: string, executions: LeasedExecution[], finishedAt: number) =>
    transport.report({
      workerId,
      outcomes: executions.map(({ executionId, fence }) => ({
        ...{ executionId, fence, startedAt: null, finishedAt },
        ...{ outcome: 'HANDED_BACK', reason: 'NO_FREE_SLOT' },
      })),
      ...{ began: [], progress: [], held: null },
    })
  return {
    ...transport,
    async lease(request, signal): Promise<LeaseAnswer> {
      const share = shares.get(request.pool)
      if (!share) return transport.lease(request, signal)
      const careful = carefulUntil.get(request.pool) ?? 0
      const waitMs = careful - monotonicMs()
      if (waitMs > 0) await pause(waitMs, undefined, { signal })
      const slots = careful > 0 ? Math.min(request.slots, fewSlots) : request.slots
      const answer = await transport.lease({ ...request, slots }, signal)
      const { within, beyond } = share.split(answer.executions)
      if (beyond.length === 0) {
        if (answer.executions.length < slots) carefulUntil.delete(request.pool)
        return answer
      }
      await handBack(request.workerId, beyond, answer.serverTime)
      carefulUntil.set(request.pool, monotonicMs() + pauseMs)
      return { ...answer, executions: within }
    },
  }
}
