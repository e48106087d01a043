/** What every due source must do, whatever it is made of. PostgreSQL is the truth of all of them: jobs are made and fired there. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId, submissionId } from '../../packages/server/src/domain/identity.ts'
import type { DueEntry, DueOccurrence, DueSource } from '../../packages/server/src/due-source/port.ts'
import type { Clock } from '../../packages/server/src/lib/clock.ts'
import { planSchedule } from '../../packages/server/src/scheduling/plan.ts'
import type { LedShard } from '../../packages/server/src/store/shards/claim.ts'
import { endOf, openStore, type TestStore } from '../support/store.ts'
import { until } from '../support/until.ts'

/** A source as a node has it that begins to lead. `clock` is the installation's, and may be ahead of the machine's. */
export type MakeDueSource = (store: TestStore, clock: Clock) => DueSource

const windowMs = 5_000
const idOf = (entry: DueEntry) => (entry.source === 'schedules' ? entry.jobId : entry.executionId)

export function describeDueSource(name: string, make: MakeDueSource): void {
  describe(`the due source of ${name}`, () => {
    let store: TestStore
    let source: DueSource
    let passedMs: number
    const clock = { now: () => Date.now() + passedMs }

    beforeAll(async () => {
      store = await openStore()
    })
    afterAll(() => store[Symbol.asyncDispose]())
    beforeEach(async () => {
      for (const table of ['schedules', 'retries', 'submissions'])
        await store.database.query(null, `delete from carillon.${table}`)
      passedMs = 0
      source = make(store, clock)
    })

    /** What one claim hands out, by id. */
    async function claim(from = source, shards: readonly LedShard[] = store.led): Promise<Map<string, DueEntry>> {
      const entries = new Map<string, DueEntry>()
      const take = (portion: DueEntry[]) => {
        for (const entry of portion) entries.set(idOf(entry), entry)
        return true
      }
      await from.claim({ shards, until: Math.ceil(clock.now() + windowMs), behind: false, take })
      return entries
    }

    /** Claims until it is handed out: a copy of the truth may need a moment to follow it. */
    async function handedOut(id: string, from = source, shards = store.led): Promise<DueEntry> {
      let entry: DueEntry | undefined
      await until(async () => {
        entry = (await claim(from, shards)).get(id)
        return entry !== undefined
      })
      return entry!
    }

    /** FIREs it from what the entry says. Answers the next occurrence, or null if FIRE refused. */
    async function fire(entry: DueEntry): Promise<{ nominal: number; due: number; fires: number } | null> {
      const { move, occurrences } = planSchedule(entry as DueOccurrence, Date.now())
      const tagged = occurrences.map((each) => ({ ...each, tag: store.tag() }))
      const { moved } = await store.fireAs(store.led, [move], tagged)
      const fires = (entry as DueOccurrence).fires + move.fires
      return moved.length === 0 ? null : { nominal: move.nextNominal!, due: move.nextDue!, fires }
    }

    const second = () => Math.floor(Date.now() / 1_000) * 1_000

    describe('hands out', () => {
      it('what is due by the time asked for, and nothing that is due later', async () => {
        const [past, soon] = [
          await store.job({ nominal: second() - 2_000 }),
          await store.job({ nominal: second() + 3_000 }),
        ]
        const later = await store.job({ nominal: second() + 3_600_000 })
        await handedOut(past)
        const entries = await claim(make(store, clock))
        expect([...entries.keys()].sort()).toEqual([past, soon].sort())
        expect(entries.has(later)).toBe(false)
      })

      it('retries and submissions of callers, too', async () => {
        const [retry] = await store.submit(1)
        const [held] = await store.lease(1)
        await store.settle([endOf(held!, 'FAILED')])
        const submission = submissionId(Date.now())
        await store.database.query(
          null,
          `insert into carillon.submissions (execution_id, shard, tenant, pool, lane, handler, run_at)
           values ($1, 0, 'acme', 'default', 2, 'h', now())`,
          [submission],
        )
        expect(await handedOut(retry!)).toMatchObject({ source: 'retries', tenant: 'acme', pool: 'default', lane: 2 })
        source = make(store, clock)
        expect(await handedOut(submission)).toMatchObject({ source: 'submissions', tenant: 'acme', shard: 0 })
      })

      it('plain data that FIRE accepts: id, version, nominal and due time as PostgreSQL has them', async () => {
        const nominal = second() - 1_000
        const jobId = await store.job({ nominal })
        const entry = await handedOut(jobId)
        expect(entry).toMatchObject({
          source: 'schedules',
          jobId,
          version: 1,
          nominal,
          due: nominal,
          tenant: 'acme',
          fires: 0,
        })
        const copy = JSON.parse(JSON.stringify(entry)) as DueEntry
        expect(copy).toEqual(entry)
        expect(await fire(copy)).toMatchObject({ nominal: expect.any(Number) })
      })

      it('what belongs to the led shards only, and what belongs to a shard that was taken over', async () => {
        const jobIds = await Promise.all(Array.from({ length: 40 }, () => store.job({ nominal: second() - 1_000 })))
        const rows = await store.database.query<{ job_id: string; shard: number }>(
          null,
          'select job_id, shard from carillon.schedules',
        )
        const own = rows.filter(({ shard }) => shard === store.led[0]!.shard)
        await handedOut(own[0]!.job_id, source, [store.led[0]!])
        const first = await claim(make(store, clock), [store.led[0]!])
        expect([...first.keys()].sort()).toEqual(own.map((row) => row.job_id).sort())
        const other = rows.find(({ shard }) => shard !== store.led[0]!.shard)!
        await handedOut(other.job_id)
        expect(jobIds).toContain(other.job_id)
      })

      it('the rest with later claims, if the caller has no room', async () => {
        const jobIds = new Set(
          await Promise.all(Array.from({ length: 30 }, (_, i) => store.job({ nominal: second() - i * 1_000 }))),
        )
        await until(async () => {
          await source.claim({
            ...{ shards: store.led, until: clock.now() + windowMs, behind: false },
            take: (entries) => {
              for (const entry of entries) jobIds.delete(idOf(entry))
              return false
            },
          })
          return jobIds.size === 0
        })
      })
    })

    describe('a claim', () => {
      it('that is confirmed is over: the next occurrence comes with the claim that reaches it', async () => {
        const jobId = await store.job({ nominal: second() - 1_000, interval: 'PT10S' })
        const entry = await handedOut(jobId)
        const next = (await fire(entry))!
        source.confirm([{ entry, next }])
        expect(next.due).toBeGreaterThan(source.claimedUntil)
        expect((await claim()).has(jobId)).toBe(false)
        passedMs = 8_000
        expect(await handedOut(jobId)).toMatchObject({ version: 1, ...next })
      })

      it('that is neither confirmed nor given back runs out', async () => {
        const jobId = await store.job({ nominal: second() + 2_000 })
        const entry = await handedOut(jobId)
        passedMs = source.claimMs + 1
        expect(await handedOut(jobId)).toEqual(entry)
      })

      it('that is given back is handed out by the next claim, however long ago it was due', async () => {
        const jobId = await store.job({ nominal: second() - 30_000, interval: 'PT1H' })
        const entry = await handedOut(jobId)
        source.giveBack([entry])
        expect(await handedOut(jobId)).toEqual(entry)
      })

      it('of a leader that crashed is void in the next epoch', async () => {
        const jobId = await store.job({ nominal: second() + 1_000 })
        const entry = await handedOut(jobId)
        const successor = make(store, clock)
        const raised = store.led.map(({ shard, epoch }) => ({ shard, epoch: epoch + 1 }))
        expect(await handedOut(jobId, successor, raised)).toEqual(entry)
        expect(await handedOut(jobId, source, raised)).toEqual(entry)
      })

      it('of shards that were dropped is void, though they are led again in the same epoch', async () => {
        const jobId = await store.job({ nominal: second() + 3_000 })
        await handedOut(jobId)
        await until(async () => !(await claim()).has(jobId))
        source.dropped(store.led.map(({ shard }) => shard))
        expect((await claim()).has(jobId)).toBe(true)
      })

      it('that is out of date is refused by FIRE; given back, it brings what stands there now', async () => {
        const jobId = await store.job({ nominal: second() - 1_000, interval: 'PT1H' })
        const old = await handedOut(jobId)
        const moved = second() - 2_000
        await store.database.query(
          null,
          `with j as (update carillon.jobs set version = 2, anchor = carillon.at($2) where job_id = $1)
           update carillon.schedules set version = 2, nominal = carillon.at($2), due = carillon.at($2) where job_id = $1`,
          [jobId, moved],
        )
        expect(await fire(old)).toBeNull()
        source.giveBack([old])
        const entry = await handedOut(jobId)
        expect(entry).toMatchObject({ version: 2, nominal: moved, due: moved })
        expect(await fire(entry)).not.toBeNull()
      })
    })

    describe('what is created after a claim that reached beyond it', () => {
      it('comes with the next claim after a hint', async () => {
        await handedOut(await store.job({ nominal: second() + 1_000 }))
        const nominal = second() + 3_000
        const jobId = await store.job({ nominal })
        source.hint(nominal)
        await handedOut(jobId)
      })

      it('comes with a claim after the node that created it has told of it and of when it is due', async () => {
        await handedOut(await store.job({ nominal: second() + 1_000 }))
        const nominal = second() + 3_000
        const jobId = await store.job({ nominal })
        const elsewhere = make(store, clock)
        elsewhere.moved([jobId])
        source.hint(nominal)
        await handedOut(jobId)
      })

      it('comes without a hint, after the time limit of a claim at most', async () => {
        await handedOut(await store.job({ nominal: second() + 1_000 }))
        const jobId = await store.job({ nominal: second() + 3_000, jobId: newId(Date.now()) })
        passedMs = source.claimMs + 1
        await handedOut(jobId)
      })
    })

    it('confirming, giving back, dropping, hinting and telling of moves that it does not know does no harm', async () => {
      const jobId = await store.job({ nominal: second() - 1_000, interval: 'PT1H' })
      const entry = (await handedOut(jobId)) as DueOccurrence
      const unknown: DueEntry = { ...entry, jobId: newId(Date.now()) }
      source.confirm([{ entry: unknown, next: null }])
      source.giveBack([unknown])
      source.moved([unknown.jobId])
      source.dropped([32_000])
      source.hint(0)
      await handedOut(jobId)
    })
  })
}
