import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode
let sql: pg.Client

beforeAll(async () => {
  node = await httpNode()
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const target = { handler: 'h' }
const now = { type: 'ONE_SHOT', target }
const later = { type: 'DELAYED', delayMs: 3_600_000, target }
const daily = { type: 'CRON', schedule: '@daily', target }
const send = (body: unknown) => node.ask('POST /v1/jobs/batch', body)
const rows = async (text: string, values: unknown[] = []) => (await sql.query(text, values)).rows
const everything = () =>
  rows('select job_id::text id from carillon.jobs union all select execution_id::text from carillon.executions')

describe('a batch', () => {
  it('creates submissions and jobs in one transaction, answered in the order they came', async () => {
    const answer = await send({ jobs: [now, daily, later, { ...now, payload: { n: 4 }, priority: 'HIGH' }] })
    fitsContract('createJobs', answer)
    expect(answer.status).toBe(201)
    const { items } = answer.body
    expect(items.map((item: { nextFireAt: string | null }) => item.nextFireAt === null)).toEqual([
      true,
      false,
      false,
      true,
    ])
    const written = await rows(
      `select execution_id::text id, xmin::text from carillon.executions union all select job_id::text, xmin::text from carillon.jobs`,
    )
    expect(written.map(({ id }) => id).toSorted()).toEqual(
      items.map(({ jobId }: { jobId: string }) => jobId).toSorted(),
    )
    expect(new Set(written.map(({ xmin }) => xmin)).size).toBe(1)
    expect(await rows(`select lane from carillon.ready where execution_id = $1`, [items[3].jobId])).toEqual([
      { lane: 1 },
    ])
    const audited = await rows(`select subject from carillon.audit where action = 'job.created'`)
    expect(audited).toEqual([{ subject: items[1].jobId }]) // one that runs once has the ledger for its record
  })

  it('of ten thousand is written in time', async () => {
    const jobs = Array.from({ length: 10_000 }, (_, i) => ({ ...(i % 2 === 0 ? now : later), payload: { i } }))
    const answer = await send({ jobs })
    expect(answer.status).toBe(201)
    expect(new Set(answer.body.items.map(({ jobId }: { jobId: string }) => jobId)).size).toBe(10_000)
    expect((await send({ jobs: [...jobs, now] })).body.errors[0].pointer).toBe('/jobs')
  })
})

describe('wrong ones', () => {
  const wrong = [
    ['/schedule', 'SCHEDULE_INVALID', { ...daily, schedule: '61 * * * *' }],
    ['/target/pool', 'POOL_UNKNOWN', { ...now, target: { pool: 'nowhere', handler: 'h' } }],
    ['/key', 'VALIDATION', { ...later, key: 'k' }],
    ['/dedupe', 'VALIDATION', { ...now, dedupe: { key: 'k' } }],
    ['/payload', 'PAYLOAD_TOO_LARGE', { ...now, payload: 'x'.repeat(300_000) }],
    ['/cron', 'VALIDATION', { ...now, cron: '@daily' }],
    ['/type', 'VALIDATION', { ...now, type: 'SOMETIMES' }],
    ['', 'VALIDATION', 'no job at all'],
  ] as const

  it('keep the others from being created, and all are named', async () => {
    const before = await everything()
    const { status, body } = await send({ jobs: [now, ...wrong.map(([, , job]) => job), later] })
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'VALIDATION' })
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(
      wrong.map(([pointer], i) => `/jobs/${i + 1}${pointer}`),
    )
    expect(await everything()).toEqual(before)
  })

  it('have the code they share', async () => {
    const [, , job] = wrong[1]
    expect(await send({ jobs: [job, now, job] })).toMatchObject({ status: 422, body: { code: 'POOL_UNKNOWN' } })
  })

  it('are answered one by one if the others may go ahead', async () => {
    const before = await everything()
    const answer = await send({ jobs: [now, ...wrong.map(([, , job]) => job), later], partial: true })
    fitsContract('createJobs', answer)
    const { items } = answer.body
    expect(items.slice(1, -1).map(({ error }: { error: { code: string } }) => error.code)).toEqual(
      wrong.map(([, code]) => code),
    )
    expect(items[1].error).toMatchObject({ status: 422, errors: [{ pointer: '/schedule' }] })
    const ids = (await everything()).map(({ id }) => id).filter((id) => !before.some((old) => old.id === id))
    expect(ids.toSorted()).toEqual([items[0].jobId, items.at(-1).jobId].toSorted())
  })
})
