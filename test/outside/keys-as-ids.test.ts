/** A job's key is accepted wherever its id is: in every path and filter of the API, by the client, and in library mode. */
import { apiPaths } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import { type Client, createClient } from '@carillon/sdk'
import { type Carillon, createCarillon, defineHandler } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HttpNode, httpNode } from '../support/http-node.ts'

const greet = defineHandler<object>({ name: 'greet' })
const cron = '0 3 * * *'
/** The last has the form of an id, and no job has it as one. */
const keys = ['digest', 'batch', 'team/digest today', 'täglich 🌙', '50%', '01890000-0000-7000-8000-00000000abcd']
let node: HttpNode
let client: Client
let carillon: Carillon

beforeAll(async () => {
  node = await httpNode()
  client = createClient({ urls: node.url })
  carillon = await createCarillon({ databaseUrl: node.databaseUrl, logLevel: 'error' })
  await carillon.start()
})
afterAll(async () => {
  await client.close()
  await carillon.stop()
  await node[Symbol.asyncDispose]()
})

/** What a route about one job needs besides the job. The last of them deletes it. */
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
const definition = { type: 'CRON', schedule: '0 4 * * *', target: { handler: 'greet' } }
const bodies: Record<string, (key: string) => unknown> = {
  replaceJob: (key) => ({ ...definition, key }),
  patchJob: () => ({ timezone: 'Europe/Berlin' }),
  backfillJob: () => ({ from: ago(2), to: ago(1), dryRun: true }),
}
const aboutOneJob = Object.entries(apiPaths)
  .filter(([, path]) => path.includes(':jobId'))
  .sort(([a], [b]) => Number(a === 'deleteJob') - Number(b === 'deleteJob'))

describe.each(keys)('the key %s', (key) => {
  test.each(aboutOneJob)('%s takes it', async (operation, path) => {
    const job = await carillon.schedule(greet, {}, { key, cron })
    const answer = await node.ask(path.replace(':jobId', encodeURIComponent(key)), bodies[operation]?.(key))
    expect(answer.body.code).toBeUndefined()
    expect(answer.status).toBeLessThan(300)
    if (answer.body.key !== undefined) expect(answer.body).toMatchObject({ jobId: job.jobId, key })
    // By id it is the same job.
    const byId = await node.ask(path.replace(':jobId', job.jobId), bodies[operation]?.(key))
    if (operation === 'deleteJob') expect(byId.body.code).toBe('JOB_NOT_FOUND')
    else expect(byId.status).toBe(answer.status)
  })

  test.each(['client', 'library mode'])('%s takes it', async (which) => {
    const calls = which === 'client' ? client : carillon
    const { jobId } = await carillon.schedule(greet, {}, { key, cron })
    expect(await calls.job(key)).toMatchObject({ jobId })
    await calls.pause(key)
    expect(await calls.jobs.get(key)).toMatchObject({ jobId, state: 'PAUSED' })
    await calls.resume(key)
    const { executionId } = await calls.trigger(key)
    expect((await calls.jobs.executions(key)).items).toMatchObject([{ executionId }])
    expect((await calls.jobs.next(key, { count: 2 })).fires).toHaveLength(2)
    expect((await calls.verify({ from: ago(60), jobId: key })).verdict).not.toBe('FOUND')
    await calls.unschedule(key)
    expect((await carillon.job(key))?.jobId).toBeUndefined()
    expect(await carillon.executionsOf(key)).toEqual([])
  })
})

test('filters take it: executions, dead letters, bulk work, events', async () => {
  const key = 'filtered/by key'
  const { jobId } = await carillon.schedule(greet, {}, { key, cron })
  const { executionId } = await carillon.trigger(key)
  expect((await client.executions.list({ jobId: key })).items).toMatchObject([{ executionId }])
  expect((await client.executions.list({ jobId: 'nobody has it' })).items).toEqual([])
  expect((await client.executions.listDead({ jobId: key })).items).toEqual([])
  expect(await client.executions.cancelAll({ filter: { jobId: key }, dryRun: true })).toMatchObject({ count: 1 })
  for (const calls of [client, carillon]) {
    const ending = new AbortController()
    const events = calls.events({ jobId: key, types: ['job.*'], signal: ending.signal })
    const first = events.next()
    // The stream begins with the next change; changes go on until it has seen one.
    const changes = setInterval(() => void carillon.pause(key).then(() => carillon.resume(key)), 50)
    expect((await first).value).toMatchObject({ jobId })
    clearInterval(changes)
    ending.abort()
    await events.return()
  }
})

test('an id that looks like the key of another job is the id', async () => {
  const one = await carillon.schedule(greet, {}, { key: 'one', cron })
  const other = await carillon.schedule(greet, {}, { key: one.jobId, cron })
  expect(await client.job(one.jobId)).toMatchObject({ jobId: one.jobId, key: 'one' })
  await carillon.unschedule(one.jobId)
  await expect(carillon.pause('one')).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
  // The first is gone but for its history; as a key the same text still names the other.
  await carillon.pause(one.jobId)
  expect((await carillon.job(other.jobId))?.state).toBe('PAUSED')
})

test('what names no job is JOB_NOT_FOUND, and names what was asked for', async () => {
  const answer = await node.ask('GET /v1/jobs/no-such-key')
  expect(answer).toMatchObject({
    status: 404,
    body: { code: 'JOB_NOT_FOUND', detail: expect.stringContaining('no-such-key') },
  })
  expect(await client.job('no-such-key')).toBeNull()
  expect(await carillon.job('no-such-key')).toBeNull()
})

test('no path or filter of the contract asks for the id of a job alone', () => {
  const ids = Object.entries(api).flatMap(([operation, declared]) => {
    const { params, query } = declared as { params?: Shape; query?: Shape }
    const fields = { ...params?.properties, ...query?.properties }
    return ['jobId', 'job'].filter((name) => fields[name]?.format === 'uuid').map((name) => `${operation}.${name}`)
  })
  expect(ids).toEqual([])
})

interface Shape {
  properties: Record<string, { format?: string }>
}
