import { silentLogger } from '@carillon/contract/process'
import { createClient, defineHandler, ExecutionFailed, PermanentError } from '@carillon/sdk'
import { type Carillon, createCarillon } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

const greet = defineHandler({ name: 'greet', payload: z.object({ name: z.string() }) })
const fail = defineHandler<null>({ name: 'fail' })
const hang = defineHandler<null>({ name: 'hang' })
const wait = { waitMs: 20_000 }

let node: HttpNode
let carillon: Carillon
let client: ReturnType<typeof createClient>

beforeAll(async () => {
  node = await httpNode()
  carillon = await createCarillon({ databaseUrl: node.databaseUrl, logLevel: 'error' })
  carillon.handle(greet, async (ctx) => `Hello ${ctx.payload.name}`)
  carillon.handle(fail, async () => {
    throw new PermanentError('no')
  })
  carillon.handle(
    hang,
    (ctx) => new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
  )
  await carillon.start()
  client = createClient({ urls: node.url })
})
afterAll(async () => {
  await client.close()
  await carillon.stop({ drainSec: 1 })
  await node[Symbol.asyncDispose]()
})

describe('the client', () => {
  it('submits and waits for the result', async () => {
    const handle = await client.enqueue(greet, { name: 'Ada' })
    expect(await handle.result(wait)).toBe('Hello Ada')
    expect(await handle.execution()).toMatchObject({ state: 'SUCCEEDED', handler: 'greet', attempt: 1 })
  })

  it('waits for one that is to come', async () => {
    const handle = await client.enqueue(greet, { name: 'later' }, { delayMs: 300 })
    expect(await handle.result(wait)).toBe('Hello later')
  })

  it('says so when it has not ended in time', async () => {
    const handle = await client.enqueue(greet, { name: 'never' }, { delayMs: 3_600_000 })
    await expect(handle.result({ waitMs: 50 })).rejects.toThrow('has not ended within 50 ms')
  })

  it('submits many at once', async () => {
    const handles = await client.enqueueMany(
      greet,
      Array.from({ length: 50 }, (_, i) => ({ name: `${i}` })),
    )
    expect(await Promise.all(handles.map((handle) => handle.result(wait)))).toHaveLength(50)
    expect(await client.enqueueMany(greet, [])).toEqual([])
  })

  it('throws what became of one that did not succeed', async () => {
    const handle = await client.enqueue(fail, null)
    const failure = await handle.result(wait).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ExecutionFailed)
    expect((failure as ExecutionFailed).execution).toMatchObject({ state: 'DEAD', error: { message: 'no' } })
    await client.replay(handle.executionId)
    expect(await handle.ended(wait)).toMatchObject({ state: 'DEAD' })
  })

  it('cancels', async () => {
    const handle = await client.enqueue(hang, null)
    await expect.poll(async () => (await handle.execution())?.state).toBe('RUNNING')
    expect(await client.cancel(handle.executionId)).toBe('CANCELLING')
    expect(await handle.ended(wait)).toMatchObject({ state: 'CANCELLED' })
  })

  it('schedules, pauses, resumes, triggers and removes', async () => {
    const options = { key: 'nightly', cron: '0 3 * * *', timezone: 'Europe/Berlin', endAt: new Date('2100-01-01') }
    const job = await client.schedule(greet, { name: 'night' }, options)
    expect(job).toMatchObject({ key: 'nightly', state: 'ACTIVE', version: 1, endAt: '2100-01-01T00:00:00.000Z' })
    expect(await client.schedule(greet, { name: 'night' }, options)).toMatchObject({ jobId: job.jobId, version: 1 })
    expect(await client.pause(job.jobId)).toMatchObject({ state: 'PAUSED', nextFireAt: null })
    expect(await client.resume(job.jobId)).toMatchObject({ state: 'ACTIVE' })
    expect(await (await client.trigger(job.jobId)).result(wait)).toBe('Hello night')
    expect(await client.job(job.jobId)).toMatchObject({ lastState: 'SUCCEEDED' })
    await client.unschedule(job.jobId)
    expect(await client.job(job.jobId)).toMatchObject({ state: 'DELETED', nextFireAt: null })
  })

  it('refuses a payload before it is sent', async () => {
    await expect(client.enqueue(greet, { name: 5 } as never)).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' })
  })

  it('throws the errors of the node, with code, pointer and hint', async () => {
    const input = { type: 'CRON', schedule: '61 * * * *', target: { handler: 'greet' } } as const
    await expect(client.call('createJob', { body: input })).rejects.toMatchObject({
      code: 'SCHEDULE_INVALID',
      status: 422,
      errors: [{ pointer: '/schedule' }],
    })
    expect(await client.execution('0190a000-0000-8000-8000-000000000000')).toBeNull()
  })

  it('asks another node when one is gone', async () => {
    const other = await node.another()
    await using both = createClient({ urls: ['http://127.0.0.1:1', other.url], logger: silentLogger })
    const handle = await both.enqueue(greet, { name: 'again' })
    expect(await handle.result(wait)).toBe('Hello again')
  })

  it('says that no node answers', async () => {
    await using nobody = createClient({ urls: 'http://127.0.0.1:1', patienceMs: 0, logger: silentLogger })
    await expect(nobody.job('0190a000-0000-8000-8000-000000000000')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})
