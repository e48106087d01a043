import { type Carillon, defineHandler, type ExecutionView, type ScheduleOptions } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes, type TestCarillon, testCarillon } from '../../support/carillon.ts'
import { until } from '../../support/until.ts'

const tick = defineHandler<{ label: string }>({ name: 'tick' })
const slow = defineHandler<{ label: string }>({ name: 'slow' })

let test: TestCarillon
let carillon: Carillon
let sql: pg.Client
const runs: { label: string; scheduledFor: number; startedAt: number }[] = []
/** Lets the slow handler of a label end. */
const gates = new Map<string, PromiseWithResolvers<void>>()

beforeAll(async () => {
  test = await testCarillon((node) => {
    node.handle(tick, async (ctx) => {
      runs.push({ label: ctx.payload.label, scheduledFor: ctx.scheduledFor.getTime(), startedAt: ctx.now().getTime() })
    })
    node.handle(slow, { concurrency: 50 }, async (ctx) => {
      const gate = gateOf(ctx.payload.label)
      await Promise.race([
        gate.promise,
        new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
      ])
    })
  }, quickTimes)
  carillon = test.carillon
  sql = new pg.Client(test.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  for (const gate of gates.values()) gate.resolve()
  await test[Symbol.asyncDispose]()
})

describe('a schedule', () => {
  it('fires every second, each occurrence once, never early', async () => {
    const job = await carillon.schedule(tick, { label: 'cron' }, { cron: '* * * * * *' })
    const mine = () => runs.filter((run) => run.label === 'cron')
    await until(() => mine().length >= 3)
    await carillon.unschedule(job.jobId)
    const times = mine().map((run) => run.scheduledFor)
    expect(new Set(times).size).toBe(times.length)
    expect(times.every((time) => time % 1_000 === 0)).toBe(true)
    expect(times.every((time, i) => i === 0 || time - times[i - 1]! === 1_000)).toBe(true)
    expect(mine().every((run) => run.startedAt >= run.scheduledFor)).toBe(true)
    const [execution] = await carillon.executionsOf(job.jobId)
    expect(execution).toMatchObject({ origin: 'SCHEDULE', jobVersion: 1 })
  })

  it('counts intervals from its anchor', async () => {
    const anchor = Math.floor(Date.now() / 1_000) * 1_000 - 86_400_000 + 500
    const job = await carillon.schedule(tick, { label: 'interval' }, { every: 'PT1S', anchor })
    await until(() => runs.filter((run) => run.label === 'interval').length >= 2)
    await carillon.unschedule(job.jobId)
    expect(runs.filter((r) => r.label === 'interval').every((r) => r.scheduledFor % 1_000 === 500)).toBe(true)
  })

  it('ends after maxFires and is COMPLETED', async () => {
    const job = await carillon.schedule(tick, { label: 'twice' }, { cron: '* * * * * *', maxFires: 2 })
    await until(async () => (await carillon.job(job.jobId))?.state === 'COMPLETED')
    await until(() => runs.filter((run) => run.label === 'twice').length === 2)
    expect(await carillon.executionsOf(job.jobId)).toHaveLength(2)
  })

  it('leaves no row among the jobs when it was a one-shot', async () => {
    const handle = await carillon.enqueue(tick, { label: 'later' }, { delayMs: 300 })
    expect(await jobCount('later')).toBe(1)
    expect(await handle.execution()).toBeNull()
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'SUCCEEDED', origin: 'SCHEDULE' })
    expect(await jobCount('later')).toBe(0)
  })

  it('with a key: the same definition changes nothing, another one updates', async () => {
    const options: ScheduleOptions = { key: 'digest', cron: '0 3 * * *', timezone: 'Europe/Berlin' }
    const first = await carillon.schedule(tick, { label: 'keyed' }, options)
    const same = await carillon.schedule(tick, { label: 'keyed' }, options)
    expect(same).toEqual(first)
    const changed = await carillon.schedule(tick, { label: 'keyed' }, { ...options, cron: '0 4 * * *' })
    expect(changed).toMatchObject({ version: 2, jobId: first.jobId })
    expect(first.nextFireLocal).toMatch(/T03:00:00$/)
    expect(changed.nextFireLocal).toMatch(/T04:00:00$/)
    const twins = await Promise.all(
      Array.from({ length: 10 }, () => carillon.schedule(tick, { label: 't' }, { ...options, key: 'twin' })),
    )
    expect(new Set(twins.map((job) => job.jobId)).size).toBe(1)
  })

  it('fires nothing while paused, records what passed, and goes on', async () => {
    const job = await carillon.schedule(tick, { label: 'paused' }, { cron: '* * * * * *' })
    const mine = () => runs.filter((run) => run.label === 'paused').length
    await until(() => mine() >= 1)
    await carillon.pause(job.jobId)
    const before = mine()
    const pausedAt = Date.now()
    await until(() => Date.now() > pausedAt + 2_100)
    expect(mine() - before).toBeLessThanOrEqual(1) // one may have been under way
    await carillon.resume(job.jobId)
    await until(() => mine() > before + 1)
    await carillon.unschedule(job.jobId)
    const skipped = (await carillon.executionsOf(job.jobId, { limit: 50 })).filter((e) => e.state === 'SKIPPED')
    expect(skipped).toHaveLength(1)
    expect(skipped[0]).toMatchObject({ reason: 'PAUSED' })
    expect(skipped[0]!.skippedCount).toBeGreaterThanOrEqual(1)
    await expectNoHole(job.jobId)
  })

  it('loses no occurrence to an edit', async () => {
    const key = 'edited'
    const job = await carillon.schedule(tick, { label: 'edited' }, { key, cron: '* * * * * *' })
    const since = Date.now()
    for (let i = 0; Date.now() < since + 2_500; i++) {
      await carillon.schedule(tick, { label: 'edited' }, { key, cron: '* * * * * *', timeoutSec: 10 + (i % 2) })
    }
    await carillon.unschedule(job.jobId)
    await expectNoHole(job.jobId)
  })

  it('catches up after a rest as its misfire policy says', async () => {
    const cron = '* * * * * *'
    const misfireAfterSec = 1
    /** As if nobody had been there for four seconds. Only of a job that has not fired yet: else what it fired would be due again. */
    const scheduleEarlier = async (label: string, misfire?: 'FIRE_ALL' | 'SKIP') => {
      for (;;) {
        const job = await carillon.schedule(tick, { label }, { cron, misfireAfterSec, ...(misfire && { misfire }) })
        const { rowCount } = await sql.query(
          `update carillon.schedules set nominal = nominal - interval '4 seconds', due = due - interval '4 seconds'
           where job_id = $1 and fires = 0`,
          [job.jobId],
        )
        if (rowCount === 1) return job
        await carillon.unschedule(job.jobId)
      }
    }
    const jobs = {
      once: await scheduleEarlier('m-once'),
      all: await scheduleEarlier('m-all', 'FIRE_ALL'),
      skip: await scheduleEarlier('m-skip', 'SKIP'),
    }
    const ids = Object.values(jobs).map((job) => job.jobId)
    await until(async () => (await carillon.executionsOf(jobs.all.jobId, { limit: 50 })).length >= 4)
    for (const id of ids) await carillon.unschedule(id)
    const skipped = async (id: string) =>
      (await carillon.executionsOf(id, { limit: 50 })).filter((e) => e.state === 'SKIPPED')
    expect(await skipped(jobs.all.jobId)).toHaveLength(0)
    expect((await skipped(jobs.once.jobId)).map((e) => e.reason)).toEqual(['MISFIRED'])
    expect((await skipped(jobs.skip.jobId)).map((e) => e.reason)).toEqual(['MISFIRED'])
    for (const id of ids) await expectNoHole(id)
  })
})

describe('overlap of a job with itself', () => {
  it('FORBID skips, and records it', async () => {
    const job = await start('forbid', 'FORBID')
    await until(async () => (await executions(job)).some((e) => e.reason === 'OVERLAP'))
    expect((await executions(job)).filter((e) => e.state === 'RUNNING')).toHaveLength(1)
    await expect(carillon.trigger(job)).rejects.toMatchObject({ code: 'OVERLAP_FORBIDDEN' })
    expect(await executions(job)).toContainEqual(
      expect.objectContaining({ state: 'SKIPPED', reason: 'OVERLAP', origin: 'TRIGGER' }),
    )
    gateOf('forbid').resolve()
    await until(async () => (await executions(job)).filter((e) => e.state === 'SUCCEEDED').length >= 2)
    await carillon.unschedule(job)
  })

  it('QUEUE_ONE lets one wait, and starts it when the first ends', async () => {
    const job = await start('queue', 'QUEUE_ONE')
    await until(async () => (await executions(job)).some((e) => e.reason === 'OVERLAP'))
    const states = (await executions(job)).map((e) => e.state)
    expect(states.filter((s) => s === 'RUNNING')).toHaveLength(1)
    expect(states.filter((s) => s === 'PENDING')).toHaveLength(1)
    gateOf('queue').resolve()
    await until(async () => (await executions(job)).filter((e) => e.state === 'SUCCEEDED').length >= 2)
    await carillon.unschedule(job)
  })

  it('REPLACE cancels the old one first', async () => {
    const job = await start('replace', 'REPLACE')
    await until(async () => (await executions(job)).filter((e) => e.reason === 'REPLACED').length >= 2)
    expect((await executions(job)).filter((e) => e.state === 'RUNNING').length).toBeLessThanOrEqual(1)
    await carillon.unschedule(job, { cancelRunning: true })
    await until(async () => (await executions(job)).every((e) => !['RUNNING', 'PENDING'].includes(e.state)))
  })

  async function start(label: string, overlap: 'FORBID' | 'QUEUE_ONE' | 'REPLACE'): Promise<string> {
    const job = await carillon.schedule(slow, { label }, { cron: '* * * * * *', overlap, cancelGraceSec: 1 })
    return job.jobId
  }
})

function executions(jobId: string): Promise<ExecutionView[]> {
  return carillon.executionsOf(jobId, { limit: 100 })
}

function gateOf(label: string): PromiseWithResolvers<void> {
  const gate = gates.get(label) ?? Promise.withResolvers<void>()
  gates.set(label, gate)
  return gate
}

/** Every second between the first and the last execution of a one-second job is in the ledger, exactly once. */
async function expectNoHole(jobId: string): Promise<void> {
  const seconds: number[] = []
  for (const e of await carillon.executionsOf(jobId, { limit: 1_000 })) {
    const first = e.scheduledFor.getTime() / 1_000
    for (let i = 0; i < (e.skippedCount ?? 1); i++) seconds.push(first + i)
  }
  seconds.sort((a, b) => a - b)
  expect(seconds).toEqual(seconds.map((_, i) => seconds[0]! + i))
}

async function jobCount(label: string): Promise<number> {
  const { rows } = await sql.query(`select count(*)::int n from carillon.jobs where payload like $1`, [`%"${label}"%`])
  return rows[0].n
}
