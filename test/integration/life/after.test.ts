/** Jobs of type AFTER: what runs whenever an execution of another job has ended. */

import { limits } from '@carillon/contract'
import {
  type Carillon,
  defineHandler,
  type ExecutionView,
  type HandlerContext,
  type ScheduleOptions,
} from '@carillon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes, type TestCarillon, testCarillon } from '../../support/carillon.ts'
import { until } from '../../support/until.ts'

const source = defineHandler<{ fail?: boolean; hold?: string; size?: number }>({ name: 'source' })
const follower = defineHandler<unknown>({ name: 'follower' })
const holding = defineHandler<unknown>({ name: 'holding' })

let test: TestCarillon
let carillon: Carillon
const given = new Map<string, unknown[]>()
const gates = new Map<string, PromiseWithResolvers<void>>()
let keys = 0

beforeAll(async () => {
  test = await testCarillon((node) => {
    node.handle(source, async ({ payload, executionId }) => {
      if (payload.fail) throw new Error('no luck')
      if (payload.hold !== undefined) await gateOf(payload.hold).promise
      if (payload.size !== undefined) return 'x'.repeat(payload.size)
      return { from: executionId }
    })
    const take = ({ jobId, payload }: HandlerContext<unknown>) =>
      given.set(jobId, [...(given.get(jobId) ?? []), payload])
    node.handle(follower, async (ctx) => void take(ctx))
    node.handle(holding, async (ctx) => {
      take(ctx)
      await gateOf(ctx.jobId).promise
    })
  }, quickTimes)
  carillon = test.carillon
})
afterAll(async () => {
  for (const gate of gates.values()) gate.resolve()
  await test[Symbol.asyncDispose]()
})

function gateOf(name: string): PromiseWithResolvers<void> {
  const gate = gates.get(name) ?? Promise.withResolvers<void>()
  gates.set(name, gate)
  return gate
}

/** A job that runs when it is triggered. */
async function followed(payload: { fail?: boolean; hold?: string; size?: number } = {}) {
  const options: ScheduleOptions = { key: `followed-${++keys}`, cron: '0 0 1 1 *', retryPolicy: { maxAttempts: 1 } }
  return carillon.schedule(source, payload, options)
}

const follow = (
  job: string,
  more: Omit<ScheduleOptions, 'after' | 'cron' | 'every'> & { on?: 'SUCCEEDED' | 'FAILED' | 'ENDED' } = {},
) => {
  const { on, ...rest } = more
  return carillon.schedule(follower, null, { after: { job, ...(on && { on }) }, ...rest } as ScheduleOptions)
}

async function ended(jobId: string, count: number): Promise<ExecutionView[]> {
  await until(async () => {
    const executions = await carillon.executionsOf(jobId)
    return (
      executions.length >= count && executions.every(({ state }) => ['SUCCEEDED', 'SKIPPED', 'DEAD'].includes(state))
    )
  })
  return carillon.executionsOf(jobId)
}

const began = new Date(Date.now() - 60_000).toISOString()
const expectClean = async () => expect(await carillon.verify({ from: began })).toMatchObject({ findings: [] })

describe('a job that runs after another', () => {
  it('runs once for each execution that succeeded, with its result', async () => {
    const first = await followed()
    const second = await follow(first.key!, { key: 'second' })
    expect(second).toMatchObject({
      type: 'AFTER',
      state: 'ACTIVE',
      nextFireAt: null,
      after: { job: first.key, on: 'SUCCEEDED' },
    })
    const one = await carillon.trigger(first.key!)
    await one.result()
    const two = await carillon.trigger(first.jobId)
    await two.result()
    const executions = await ended(second.jobId, 2)
    expect(executions.map(({ state, origin }) => [state, origin])).toEqual([
      ['SUCCEEDED', 'TRIGGER'],
      ['SUCCEEDED', 'TRIGGER'],
    ])
    const ids = [one.executionId, two.executionId]
    expect(given.get(second.jobId)).toMatchObject(
      ids.map((executionId) => ({
        ...{ executionId, jobId: first.jobId, key: first.key, state: 'SUCCEEDED' },
        result: { from: executionId },
        error: null,
      })),
    )
    expect(executions.map(({ timeline }) => timeline[0]!.after).sort()).toEqual(ids.sort())
    await expectClean()
  })

  it('by how it ended: FAILED and ENDED', async () => {
    const bad = await followed({ fail: true })
    const jobs = [
      await follow(bad.jobId),
      await follow(bad.jobId, { on: 'FAILED' }),
      await follow(bad.key!, { on: 'ENDED' }),
    ]
    await carillon.trigger(bad.jobId)
    const [, failed, all] = jobs
    await ended(failed!.jobId, 1)
    await ended(all!.jobId, 1)
    expect(given.get(failed!.jobId)).toMatchObject([{ state: 'DEAD', result: null, error: { message: 'no luck' } }])
    expect(await carillon.executionsOf(jobs[0]!.jobId)).toEqual([])
  })

  it('follows what runs once, by its id, and each link of a chain', async () => {
    const handle = await carillon.enqueue(source, { hold: 'once' }, { delayMs: 200 })
    const links = [await follow(handle.executionId)]
    links.push(await follow(links[0]!.jobId))
    links.push(await follow(links[1]!.jobId))
    gateOf('once').resolve()
    await ended(links[2]!.jobId, 1)
    expect(await carillon.executionsOf(links[2]!.jobId)).toHaveLength(1)
  })

  it('has a payload of its own, if it says so, and the one of a trigger', async () => {
    const first = await followed()
    const own = await carillon.schedule(follower, { mine: 1 }, { after: { job: first.jobId } })
    await carillon.trigger(first.jobId)
    await ended(own.jobId, 1)
    await carillon.trigger(own.jobId, { payload: { asked: true } })
    await ended(own.jobId, 2)
    expect(given.get(own.jobId)).toEqual([{ mine: 1 }, { asked: true }])
  })

  it('obeys its overlap policy', async () => {
    const first = await followed()
    const after = { job: first.jobId }
    const busy = await carillon.schedule(holding, null, { after, overlap: 'FORBID' })
    await carillon.trigger(first.jobId)
    await until(() => given.has(busy.jobId))
    await carillon.trigger(first.jobId)
    await until(async () => (await carillon.executionsOf(busy.jobId)).length === 2)
    const executions = await carillon.executionsOf(busy.jobId)
    expect(executions.map(({ state, reason }) => [state, reason]).sort()).toEqual([
      ['RUNNING', null],
      ['SKIPPED', 'OVERLAP'],
    ])
    gateOf(busy.jobId).resolve()
  })

  it('paused, it is on record as SKIPPED; resumed, it runs again; deleted, nothing', async () => {
    const first = await followed()
    const second = await follow(first.jobId)
    await carillon.pause(second.jobId)
    await carillon.trigger(first.jobId)
    expect(await ended(second.jobId, 1)).toMatchObject([{ state: 'SKIPPED', reason: 'PAUSED' }])
    await carillon.resume(second.jobId)
    expect(await carillon.job(second.jobId)).toMatchObject({ state: 'ACTIVE', nextFireAt: null })
    await carillon.trigger(first.jobId)
    const executions = await ended(second.jobId, 2)
    expect(executions.map(({ state }) => state).sort()).toEqual(['SKIPPED', 'SUCCEEDED'])
    await carillon.unschedule(second.jobId)
    await (await carillon.trigger(first.jobId)).result()
    const witness = await follow(first.jobId)
    await (await carillon.trigger(first.jobId)).result()
    await ended(witness.jobId, 1)
    expect(given.get(second.jobId)).toHaveLength(1)
    await expectClean()
  })

  it('made to follow another job, it follows that one only; made a cron, none', async () => {
    const [first, other] = [await followed(), await followed()]
    const second = await follow(first.jobId, { key: 'moved' })
    await follow(other.jobId, { key: 'moved' })
    expect(await carillon.job(second.jobId)).toMatchObject({ after: { job: other.jobId }, version: 2 })
    await (await carillon.trigger(first.jobId)).result()
    await (await carillon.trigger(other.jobId)).result()
    expect(await ended(second.jobId, 1)).toHaveLength(1)
    expect(given.get(second.jobId)).toMatchObject([{ jobId: other.jobId }])
    await carillon.schedule(follower, null, { key: 'moved', cron: '0 0 1 1 *' })
    expect(await carillon.job(second.jobId)).toMatchObject({ type: 'CRON', after: null, nextFireAt: expect.any(Date) })
    await follow(other.jobId, { key: 'moved' })
    expect(await carillon.job(second.jobId)).toMatchObject({ type: 'AFTER', nextFireAt: null, state: 'ACTIVE' })
    await expectClean()
  })

  it('is given the largest result there is, and ten jobs may follow one', async () => {
    const first = await followed({ size: limits.resultBytes - 100 })
    const others = await Promise.all(Array.from({ length: 10 }, () => follow(first.jobId, { overlap: 'FORBID' })))
    await (await carillon.trigger(first.jobId)).result()
    for (const { jobId } of others) await ended(jobId, 1)
    const results = others.map(({ jobId }) => (given.get(jobId)![0] as { result: string }).result.length)
    expect(new Set(results)).toEqual(new Set([limits.resultBytes - 100]))
    await expectClean()
  })

  it('does not follow what a deleted job still runs, and follows the next one with its key', async () => {
    const first = await followed({ hold: 'deleted' })
    const second = await follow(first.key!, { on: 'ENDED' })
    const running = await carillon.trigger(first.jobId)
    await until(async () => (await carillon.executions.get(running.executionId))?.state === 'RUNNING')
    await carillon.unschedule(first.jobId)
    gateOf('deleted').resolve()
    await running.result()
    const next = await carillon.schedule(source, {}, { key: first.key!, cron: '0 0 1 1 *' })
    const again = await carillon.trigger(next.jobId)
    await again.result()
    await ended(second.jobId, 1)
    expect(given.get(second.jobId)).toMatchObject([{ executionId: again.executionId }])
    await expectClean()
  })

  it('does not follow a job of another tenant that has the same key', async () => {
    const first = await followed()
    const second = await follow(first.key!)
    const { jobId } = await carillon.schedule(source, {}, { key: first.key!, cron: '0 0 1 1 *', tenant: 'another' })
    await (await carillon.trigger(jobId, { tenant: 'another' })).result()
    await (await carillon.trigger(first.key!)).result()
    await ended(second.jobId, 1)
    expect(given.get(second.jobId)).toMatchObject([{ jobId: first.jobId }])
  })

  it('what a replay brings to success is followed', async () => {
    const bad = await followed({ fail: true })
    const second = await follow(bad.jobId, { on: 'ENDED' })
    const handle = await carillon.trigger(bad.jobId)
    await ended(second.jobId, 1)
    await carillon.call('retryExecution', { params: { executionId: handle.executionId } })
    await ended(second.jobId, 2)
    expect(given.get(second.jobId)).toMatchObject([
      { executionId: handle.executionId },
      { executionId: handle.executionId },
    ])
  })
})

describe('refused', () => {
  it.each([
    ['no job of that name', { job: 'nowhere' }, 'AFTER_UNKNOWN', '/after/job'],
    ['a word that is none', { job: 'x', on: 'LATER' }, 'VALIDATION', '/after/on'],
    ['a field that is none', { job: 'x', when: 1 }, 'VALIDATION', '/after/when'],
    ['nothing to follow', {}, 'VALIDATION', '/after/job'],
  ])('%s', async (_, after, code, pointer) => {
    const wrong = carillon.schedule(follower, null, { after } as ScheduleOptions)
    await expect(wrong).rejects.toMatchObject({ code, errors: [expect.objectContaining({ pointer })] })
  })

  it('jobs that would follow each other for ever', async () => {
    const first = await followed()
    const second = await follow(first.jobId, { key: 'ring-2' })
    const third = await follow(second.jobId, { key: 'ring-3' })
    const closed = carillon.schedule(source, {}, { key: first.key!, after: { job: third.key! } })
    await expect(closed).rejects.toMatchObject({
      code: 'AFTER_CYCLE',
      errors: [expect.objectContaining({ message: expect.stringContaining('ring-3 after ring-2 after') })],
    })
  })

  it('one of two changes that close a circle together', async () => {
    for (let round = 0; round < 20; round++) {
      const [first, second] = [await followed(), await followed()]
      const close = (of: typeof first, job: typeof second) =>
        carillon.schedule(follower, null, { key: of.key!, after: { job: job.key! } })
      const made = await Promise.allSettled([close(first, second), close(second, first)])
      const refusals = made.filter((each) => each.status === 'rejected').map(({ reason }) => reason)
      expect(refusals).toEqual([expect.objectContaining({ code: 'AFTER_CYCLE' })])
    }
  })

  it('bounds that only schedules have, and two times', async () => {
    const first = await followed()
    const after = { job: first.jobId }
    const jittered = carillon.schedule(follower, null, { after, jitterSec: 5 })
    await expect(jittered).rejects.toMatchObject({
      code: 'VALIDATION',
      errors: [expect.objectContaining({ pointer: '/jitterSec' })],
    })
    const twice = carillon.schedule(follower, null, { after, cron: '* * * * *' } as never)
    await expect(twice).rejects.toThrow('cron and after are both given')
    const backfilled = await follow(first.jobId)
    const range = { from: new Date(Date.now() - 60_000).toISOString(), to: new Date().toISOString() }
    const backfill = carillon.call('backfillJob', { params: { jobId: backfilled.jobId }, body: range })
    await expect(backfill).rejects.toMatchObject({ code: 'STATE_CONFLICT' })
  })
})
