/**
 * Overlap policies while everything happens at once: FIRE, triggers, replays, reports, leases, cancels. After each round
 * assertOnePlace() also checks what the policies allow (brokenOverlap in test/support/store-invariants.ts).
 */
import type { OverlapPolicy } from '@carillon/contract'
import type { LeasedExecution } from '@carillon/sdk'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { replay } from '../../../packages/server/src/store/executions/replay.ts'
import { releaseStranded } from '../../../packages/server/src/store/workers/sweep.ts'
import { endOf, openStore, type TestStore } from '../../support/store.ts'
import { raceTimeoutMs, rounds, shuffled, tally } from './rounds.ts'

const jobCount = 5

describe('jobs that limit overlap', { timeout: raceTimeoutMs }, () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore({ connections: 8 })
  })
  afterEach(async () => {
    await store.database.query(null, 'delete from carillon.jobs; delete from carillon.schedules')
    await store.clear()
  })
  afterAll(() => store[Symbol.asyncDispose]())

  const open = (place: 'waiting' | 'all') =>
    store.database.query<{ execution_id: string }>(
      null,
      place === 'all'
        ? 'select execution_id from carillon.executions where state is null'
        : 'select execution_id from carillon.waiting',
    )
  const ids = async (state: string) =>
    (
      await store.database.query<{ execution_id: string }>(
        null,
        'select execution_id from carillon.endings where state = $1',
        [state],
      )
    ).map((row) => row.execution_id)

  /** Ends that succeed, are retried or are final, in an order of their own. */
  const ends = (leases: LeasedExecution[], n: number) =>
    shuffled(leases).map((held, i) => {
      if ((i + n) % 3 === 0) return endOf(held)
      return endOf(held, 'FAILED', (i + n) % 3 === 1 ? {} : { next: 'DEAD', reason: 'X' })
    })

  /** One round of everything at once; answers what is leased after it, and how the triggers were received. */
  async function round(jobs: string[], held: LeasedExecution[], n: number, withCancel: boolean) {
    const dead = [...(await ids('DEAD')), ...(await ids('CANCELLED'))]
    const [, , first, second, leased] = await Promise.all([
      store.fire(shuffled(jobs), 1 + (n % 2)),
      store.settle(ends(held, n)),
      store.trigger(jobs[n % jobCount]!),
      store.trigger(jobs[n % jobCount]!),
      store.lease(jobCount),
      replay(store.database, shuffled(dead), 'test'),
      store.fireReturns(),
      withCancel
        ? cancel(
            store.database,
            [held[n % 3]?.executionId].filter((id) => id !== undefined),
            why,
          )
        : null,
    ])
    return { leased, verdicts: [first!.verdict!, second!.verdict!] }
  }
  const why = { reason: 'ASKED', actor: 'test' }

  /** Whatever is still unfinished can be brought to an end by leasing and reporting alone. */
  async function drain(held: LeasedExecution[]): Promise<void> {
    let leases = held
    for (let n = 0; n < 20 && (await open('all')).length > 0; n++) {
      await store.settle(leases.map((lease) => endOf(lease)))
      await store.fireReturns()
      leases = await store.lease(100)
    }
    expect(await open('all')).toEqual([])
  }

  it.each<OverlapPolicy>(['FORBID', 'QUEUE_ONE', 'REPLACE'])('%s holds through everything at once', async (overlap) => {
    const jobs = await Promise.all(Array.from({ length: jobCount }, () => store.job({ overlap })))
    const verdicts: string[] = []
    let held: LeasedExecution[] = []
    let rescued = 0
    let started = 0
    await rounds(
      store,
      async (n) => {
        const outcome = await round(jobs, held, n, overlap !== 'FORBID' && n % 5 === 0)
        held = outcome.leased
        started += held.length
        verdicts.push(...outcome.verdicts)
        if (await releaseStranded(store.database)) rescued++
      },
      { keep: true },
    )
    expect(rescued, 'times the sweeper had to release what waited for nothing').toBe(0)
    await drain(held)
    const counts = tally(verdicts)
    // Whether a trigger ever finds the job free is chance; that executions ran all the while is not.
    expect(started).toBeGreaterThan(0)
    if (overlap === 'FORBID') expect(counts.WAIT).toBeUndefined()
    else expect(counts.WAIT).toBeGreaterThan(0)
  })

  it('QUEUE_ONE: what begins to wait while the live one ends is released by one of the two, never forgotten', async () => {
    const jobs = await Promise.all(Array.from({ length: jobCount }, () => store.job({ overlap: 'QUEUE_ONE' })))
    let rescued = 0
    await rounds(store, async () => {
      await store.fire(jobs)
      const live = await store.lease(jobCount)
      expect(live).toHaveLength(jobCount)
      await Promise.all([store.fire(shuffled(jobs)), store.settle(shuffled(live).map((lease) => endOf(lease)))])
      if (await releaseStranded(store.database)) rescued++
      await store.fireReturns()
      const next = await store.lease(jobCount)
      expect(next.map((lease) => lease.jobId).toSorted()).toEqual(jobs.toSorted())
      await store.settle(next.map((lease) => endOf(lease)))
      expect(await open('all')).toEqual([])
    })
    expect(rescued, 'times the sweeper had to help').toBe(0)
  })

  it('REPLACE: the newest starts once the old one has ended, whoever comes first', async () => {
    const jobs = await Promise.all(Array.from({ length: jobCount }, () => store.job({ overlap: 'REPLACE' })))
    await rounds(store, async (n) => {
      await store.fire(jobs)
      const live = await store.lease(jobCount)
      const outcome = n % 2 ? 'FAILED' : 'CANCELLED'
      const report = () => store.settle(shuffled(live).map((lease) => endOf(lease, outcome)))
      const fires = async () => {
        const moved = new Set<string>()
        // A job whose live execution is being reported right now is left for the next call, as the scheduler does.
        while (moved.size < jobCount) {
          const fired = await store.fire(shuffled(jobs.filter((id) => !moved.has(id))))
          for (const id of fired.moved) moved.add(id)
        }
      }
      await Promise.all([fires(), report()])
      await fires()
      await store.assertOnePlace()
      await drain(await store.lease(jobCount))
      const rows = await store.database.query<{ job_id: string; states: string[] }>(
        null,
        'select job_id, array_agg(state order by fired_at, execution_id) states from carillon.executions group by job_id',
      )
      // The first either ended by itself or was cancelled; of the two that followed only the newest ran.
      for (const { states } of rows) expect(states).toEqual(['CANCELLED', 'CANCELLED', 'SUCCEEDED'])
    })
  })
})
