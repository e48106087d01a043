/** REPORT against itself, against the sweeper and against CANCEL: an attempt ends once, whoever says so first. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { endOf, openStore, type TestStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'
import { raceTimeoutMs, rounds, shuffled } from './rounds.ts'

const perRound = 20

describe('a report', { timeout: raceTimeoutMs }, () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore()
  })
  afterAll(() => store[Symbol.asyncDispose]())

  it('of the same executions twice, in opposite order, is taken once', async () => {
    await rounds(store, async (n) => {
      const ids = await store.submit(perRound)
      const leases = await store.lease(perRound)
      const outcome = n % 2 ? 'SUCCEEDED' : 'FAILED'
      const more = { next: n % 2 ? null : ('DEAD' as const), reason: n % 2 ? null : 'NOT_RETRYABLE' }
      const ends = leases.map((lease) => endOf(lease, outcome, more))
      const answers = await Promise.all([store.report(ends), store.report(ends.toReversed())])
      const ended = answers.flatMap((answer) => answer.ended)
      // What both found locked by the other's batch is reported again, as the node does.
      await store.settle(ends)
      const after = await store.database.query<{ n: number }>(
        null,
        'select count(*)::int n from carillon.executions where execution_id = any ($1) and state is not null and attempt = 1',
        [ids],
      )
      expect(after[0]!.n).toBe(perRound)
      expect(new Set(ended).size, 'ended twice').toBe(ended.length)
      for (const { verdicts } of answers) expect(verdicts).not.toContain('REFUSED')
    })
  })

  describe('of a part of a lease, while another part is being reported', () => {
    const reported = `select carillon.report(array[$1::uuid], array[$2::bigint], null, null, null, null, array[null::bigint],
      array[null::text], null, null, null, null)`

    /** Two of one lease, the second reported before the first report has committed. */
    async function reportParts(): Promise<void> {
      await store.submit(2)
      const [first, second] = await store.lease(2)
      const client = await store.database.connect()
      await client.query('begin')
      await client.query(reported, [first!.executionId, first!.fence])
      const other = store.report([endOf(second!)])
      await until(async () => {
        const waiting = await store.database.query(
          null,
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return waiting.length > 0
      })
      await client.query('commit')
      client.release()
      expect((await other).verdicts).toEqual(['ACCEPTED'])
    }

    it('counts what is left of it as it is then', async () => {
      await reportParts()
      await store.assertOnePlace()
    })

    it('is seen to count wrongly if the lease is not locked', async () => {
      const [found] = await store.database.query<{ text: string }>(
        null,
        `select pg_get_functiondef('carillon.report'::regproc) text`,
      )
      const { text } = found!
      expect(text).toContain('order by l.lease_id for update)')
      await store.database.query(null, text.replace('order by l.lease_id for update)', 'order by l.lease_id)'))
      try {
        await reportParts()
        await expect(store.assertOnePlace()).rejects.toThrow(/has \d open, held are/)
      } finally {
        await store.database.query(null, text)
        await store.database.query(null, 'delete from carillon.leases')
      }
    })
  })

  it('and the sweeper, who took the worker for lost, do not both count the attempt', async () => {
    await rounds(store, async () => {
      await store.submit(perRound)
      const leases = await store.lease(perRound)
      const ends = shuffled(leases).map((lease) => endOf(lease))
      const answer = store.report(ends).then(async ({ verdicts }) => {
        const busy = ends.filter((_, i) => verdicts[i] === 'BUSY')
        await store.settle(busy)
        return verdicts
      })
      const [verdicts] = await Promise.all([answer, store.sweeper().runOnce()])
      expect(verdicts).toHaveLength(perRound)
      const states = await store.database.query<{ execution_id: string; state: string | null }>(
        null,
        'select execution_id, state from carillon.executions where execution_id = any ($1)',
        [ends.map((end) => end.executionId)],
      )
      const stateOf = new Map(states.map((row) => [row.execution_id, row.state]))
      verdicts.forEach((verdict, i) => {
        const state = stateOf.get(ends[i]!.executionId)
        if (verdict === 'ACCEPTED') expect(state).toBe('SUCCEEDED')
        if (verdict === 'REFUSED') expect(state, 'a refused report changed the ledger').toBeNull()
      })
    })
  })

  it('and a cancel of the same executions in opposite order both come to an end', async () => {
    await rounds(store, async (n) => {
      await store.submit(perRound)
      const leases = await store.lease(perRound)
      const outcome = n % 2 ? 'SUCCEEDED' : 'FAILED'
      const ends = leases.toReversed().map((lease) => endOf(lease, outcome))
      const ids = leases.map((lease) => lease.executionId)
      const why = { reason: 'ASKED', actor: 'test' }
      const [answer, cancelled] = await Promise.all([store.report(ends), cancel(store.database, ids, why)])
      expect(cancelled.map((c) => c.executionId).toSorted(), 'an answer for each').toEqual(ids.toSorted())
      expect(cancelled.map((c) => c.verdict)).not.toContain('UNKNOWN')
      await store.settle(ends.filter((_, i) => answer.verdicts[i] === 'BUSY'))
      // Whichever came first: what was cancelled or told to stop is not retried; a success stays one.
      const left = await store.database.query(
        null,
        `select execution_id from carillon.executions where execution_id = any ($1) and state is distinct from $2
           and state is distinct from 'CANCELLED'`,
        [ids, n % 2 ? 'SUCCEEDED' : 'CANCELLED'],
      )
      expect(left).toEqual([])
    })
  })
})
