/** A job that fails again and again is paused, if it asks for it. */
import { defineHandler, PermanentError } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes, type TestCarillon, testCarillon } from '../../support/carillon.ts'
import { until } from '../../support/until.ts'

const job = defineHandler({ name: 'job' })

let node: TestCarillon
let fails = true
beforeAll(async () => {
  node = await testCarillon(
    (carillon) =>
      carillon.handle(job, async () => {
        if (fails) throw new PermanentError('it cannot work')
      }),
    quickTimes,
  )
})
afterAll(() => node[Symbol.asyncDispose]())

async function endOf(run: { executionId: string }): Promise<string> {
  let state = 'PENDING'
  await until(async () => {
    state = (await node.carillon.execution(run.executionId))!.state
    return ['SUCCEEDED', 'DEAD'].includes(state)
  })
  return state
}

async function pauses(jobId: string): Promise<{ actor: string; detail: object }[]> {
  const client = new pg.Client(node.databaseUrl)
  await client.connect()
  try {
    const text = `select actor, detail from carillon.audit where subject = $1 and action = 'job.paused'`
    return (await client.query(text, [jobId])).rows
  } finally {
    await client.end()
  }
}

describe('pauseAfterFailures', () => {
  it('pauses after so many dead letters in a row, not one earlier, and says so in the audit', async () => {
    const { carillon } = node
    const rare = { cron: '0 0 1 1 *', pauseAfterFailures: 3 }
    const { jobId } = await carillon.schedule(job, null, { ...rare, name: 'failing' })
    const careless = await carillon.schedule(job, null, { cron: '0 0 1 1 *', name: 'careless' })
    const run = async (id: string) => endOf(await carillon.trigger(id))
    const state = async () => (await carillon.job(jobId))!.state

    fails = true
    expect([await run(jobId), await run(jobId)]).toEqual(['DEAD', 'DEAD'])
    fails = false
    expect(await run(jobId)).toBe('SUCCEEDED')
    fails = true
    expect([await run(jobId), await run(jobId)]).toEqual(['DEAD', 'DEAD'])
    for (let n = 0; n < 4; n++) await run(careless.jobId)
    expect(await state()).toBe('ACTIVE')

    expect(await run(jobId)).toBe('DEAD')
    await until(async () => (await state()) === 'PAUSED')
    expect(await pauses(jobId)).toEqual([
      { actor: 'carillon', detail: { version: 1, reason: 'FAILURES', failures: 3 } },
    ])
    expect((await carillon.job(careless.jobId))!.state).toBe('ACTIVE')

    // A person who resumes it gives it the same number of chances again.
    await carillon.resume(jobId)
    expect([await run(jobId), await run(jobId)]).toEqual(['DEAD', 'DEAD'])
    expect(await state()).toBe('ACTIVE')
    expect(await run(jobId)).toBe('DEAD')
    await until(async () => (await state()) === 'PAUSED')
  })

  it('counts what passed its deadline before it started', async () => {
    const { carillon } = node
    const nowhere = defineHandler({ name: 'nowhere' })
    const { jobId } = await carillon.schedule(nowhere, null, {
      ...{ cron: '0 0 1 1 *', pauseAfterFailures: 1, deadlineSec: 1 },
    })
    await carillon.trigger(jobId)
    await until(async () => (await carillon.job(jobId))!.state === 'PAUSED')
  })
})
