/** Changes of a job against FIRE and triggers: nothing fires from an old version, nothing is lost. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId, occurrenceId } from '../../../packages/server/src/domain/identity.ts'
import { publishVirtualTimes } from '../../../packages/server/src/store/executions/reserve-tags.ts'
import { changeJob } from '../../../packages/server/src/store/jobs/change.ts'
import { createWork } from '../../../packages/server/src/store/jobs/create.ts'
import type { JobRecord } from '../../../packages/server/src/store/rows.ts'
import { everyMs, openStore, type TestStore } from '../../support/store.ts'
import { raceTimeoutMs, rounds, shuffled } from './rounds.ts'

/** For what loses its race in every second round if it loses it at all. */
const quick = { count: 100 }

describe('a change of a job', { timeout: raceTimeoutMs }, () => {
  let store: TestStore
  beforeAll(async () => {
    store = await openStore()
  })
  afterAll(() => store[Symbol.asyncDispose]())

  /** A new definition, a pause or a resume: whatever comes next for the job as it was read. */
  const change = (job: JobRecord, n: number) => {
    const definition = n % 2 ? { ...job.definition, name: `name ${n}` } : null
    const state = n % 4 === 2 ? ('PAUSED' as const) : ('ACTIVE' as const)
    const due = state === 'PAUSED' ? null : job.nominal
    return changeJob(store.database, job, { definition, state, nominal: job.nominal, due, live: null, skipped: [] })
  }

  it('and FIRE of what was read before: exactly one of them takes place, and the version fired is the one that stood', async () => {
    const jobs = await Promise.all(Array.from({ length: 12 }, () => store.job()))
    await rounds(store, async (n) => {
      const records = (await Promise.all(jobs.map((id) => store.readJob(id)))).map((job) => job!)
      const due = records.filter((job) => job.due !== null)
      const plans = shuffled(due).map((job) => store.plan(job))
      const [fired, ...changed] = await Promise.all([
        store.fireAs(
          store.led,
          plans.map((plan) => plan.move),
          plans.flatMap((plan) => plan.occurrences),
        ),
        ...due.map(async (job) => ((await change(job, n)) ? job.definition.jobId : null)),
      ])
      // A pause or resume with the same due time lets a FIRE that was read before through: nothing has changed for it.
      const touched = [...fired.moved, ...changed.filter((id) => id !== null)]
      expect(new Set(touched).size).toBe(due.length)
      if (n % 4 !== 0) expect(touched).toHaveLength(due.length)
      const rows = await store.database.query<{ job_id: string; job_version: number }>(
        null,
        'select job_id, job_version from carillon.executions',
      )
      expect(rows.map((row) => row.job_id).toSorted()).toEqual(fired.moved.toSorted())
      for (const row of rows) {
        expect(row.job_version).toBe(records.find((job) => job.definition.jobId === row.job_id)!.version)
      }
      const paused = (await Promise.all(jobs.map((id) => store.readJob(id)))).filter((job) => job!.state === 'PAUSED')
      for (const job of paused) await change(job!, 1)
    })
  })

  it('that lets a paused job pass over occurrences is refused if somebody else has let it pass meanwhile', async () => {
    const job = await store.job()
    const active = (await store.readJob(job))!
    const pausedAt = { definition: null, state: 'PAUSED', due: null, live: null } as const
    await changeJob(store.database, active, { ...pausedAt, nominal: active.nominal, skipped: [] })
    const seen = (await store.readJob(job))!
    const first = seen.nominal!
    const pass = (count: number) => {
      const skipped = [{ id: occurrenceId(job, first), nominal: first, due: first, reason: 'PAUSED' }]
      const all = skipped.map((each) => ({ ...each, last: first + (count - 1) * everyMs, count }))
      return changeJob(store.database, seen, { ...pausedAt, nominal: first + count * everyMs, skipped: all })
    }
    expect(await pass(2)).toBe(true)
    expect(await pass(5)).toBe(false)
    expect((await store.readJob(job))!.nominal).toBe(first + 2 * everyMs)
  })

  it('that begins to limit overlap counts a trigger that came at the same moment', async () => {
    await rounds(store, async () => {
      const job = await store.job()
      await store.fire([job])
      const seen = (await store.readJob(job))!
      const definition = { ...seen.definition, overlap: 'FORBID' as const }
      const limit = {
        definition,
        state: 'ACTIVE' as const,
        nominal: seen.nominal,
        due: seen.due,
        live: [],
        skipped: [],
      }
      await Promise.all([store.trigger(job), changeJob(store.database, seen, limit), store.trigger(job)])
      const unfinished = await store.unfinished(job)
      const [row] = await store.database.query<{ live: string[]; guarded: boolean }>(
        null,
        `select s.live, (select bool_and(guarded) from carillon.executions e where e.job_id = s.job_id and e.state is null) guarded
         from carillon.schedules s where s.job_id = $1`,
        [job],
      )
      expect(row!.live.toSorted()).toEqual(unfinished.map(({ id }) => id))
      expect(row!.guarded).toBe(true)
      expect((await store.trigger(job)).verdict).toBe('SKIP')
      // From here on the job keeps the limit, and is not looked at again.
      await store.database.query(null, 'delete from carillon.jobs; delete from carillon.schedules')
    })
  })

  it('computed from a paused job does not bring it back when it was deleted meanwhile', async () => {
    const job = await store.job()
    const set = async (seen: JobRecord, state: JobRecord['state'], due: number | null) =>
      changeJob(store.database, seen, { definition: null, state, nominal: seen.nominal, due, live: null, skipped: [] })
    await set((await store.readJob(job))!, 'PAUSED', null)
    const seen = (await store.readJob(job))!
    expect(await set(seen, 'DELETED', null)).toBe(true)
    expect(await set(seen, 'ACTIVE', seen.nominal)).toBe(false)
    expect(await store.readJob(job)).toBeNull()
  })

  it('made by two batches with the same keys in opposite order meets no deadlock', async () => {
    const template = (await store.readJob(await store.job()))!
    await rounds(
      store,
      async (n) => {
        const keys = Array.from({ length: 20 }, (_, i) => `${n}-${i}`)
        const batch = (order: string[]) =>
          createWork(store.database, {
            actor: 'test',
            jobs: order.map((key) => ({
              definition: { ...template.definition, jobId: newId(Date.now()), key },
              nominal: template.nominal!,
              due: template.due!,
              createdAt: Date.now(),
            })),
          })
        const both = await Promise.all([batch(keys), batch(keys.toReversed())])
        expect(both.toSorted()).toEqual([false, true])
      },
      quick,
    )
  })

  it('nor do nodes that publish how far their lanes are', async () => {
    const lanes = Array.from({ length: 40 }, (_, i) => ({ pool: `pool ${i % 10}`, lane: Math.floor(i / 10) }))
    await rounds(
      store,
      async (n) => {
        const times = lanes.map((lane) => ({ ...lane, virtualTime: n }))
        await Promise.all(
          [times, times.toReversed(), shuffled(times)].map((t) => publishVirtualTimes(store.database, t)),
        )
      },
      quick,
    )
  })
})
