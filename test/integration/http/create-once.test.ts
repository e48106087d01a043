import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type Asked, ask, type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode
let other: string
let sql: pg.Client

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes })
  other = (await node.another()).url
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const target = { handler: 'h' }
const now = { type: 'ONE_SHOT', target, payload: { n: 1 } }
const later = { type: 'DELAYED', delayMs: 3_600_000, target }
const create = (body: unknown, key: string, url = node.url) =>
  ask(url, 'POST /v1/jobs', body, { 'idempotency-key': key })
const count = async (text: string, values: unknown[] = []) => (await sql.query(text, values)).rowCount
const entries = (key: string) => count('select from carillon.idempotency where key = $1', [key])

describe.each([
  ['a submission', now, 'executions', 'execution_id'],
  ['a job to come', later, 'jobs', 'job_id'],
  ['a job with a key', { ...later, key: 'k' }, 'jobs', 'job_id'],
  ['one with a dedupe key', { ...now, dedupe: { key: 'd' } }, 'executions', 'execution_id'],
])('%s', (name, body, table, id) => {
  it('is made once, however often and wherever it is asked for, and the answer stays the same', async () => {
    const asked = Array.from({ length: 20 }, (_, i) => create(body, name, i % 2 === 0 ? node.url : other))
    const answers = await Promise.all(asked)
    answers.push(await create(body, name), await create(body, name, other))
    for (const answer of answers) fitsContract('createJob', answer)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(await count(`select from carillon.${table} where ${id} = $1`, [answers[0]!.body.jobId])).toBe(1)
  })

  it('and its answer are written in one transaction', async () => {
    const { rows } = await sql.query(
      `select x.xmin = i.xmin together from carillon.${table} x join carillon.idempotency i
       on i.key = $1 and i.answer::jsonb ->> 'jobId' = x.${id}::text`,
      [name],
    )
    expect(rows).toEqual([{ together: true }])
  })

  it('refuses the key for another body', async () => {
    const { status, body: problem } = await create({ ...body, name: 'other' }, name)
    expect({ status, code: problem.code }).toEqual({ status: 409, code: 'IDEMPOTENCY_KEY_REUSED' })
  })
})

it('made nothing twice', async () => {
  expect(await count('select from carillon.executions')).toBe(2)
  expect(await count('select from carillon.jobs')).toBe(2)
})

describe('a job that changes by its key', () => {
  const body = { ...later, key: 'changing' }

  it('changes once, and the answer is that of the change', async () => {
    await create(body, 'first')
    const changed = await create({ ...body, timeoutSec: 7 }, 'second')
    expect(changed).toMatchObject({ status: 200, body: { version: 2, timeoutSec: 7 } })
    // Somebody else changes it back; the repeated request does not change it again.
    const back = await create(body, 'third')
    expect(back).toMatchObject({ status: 200, body: { version: 3 } })
    const repeated = await create({ ...body, timeoutSec: 7 }, 'second')
    expect(repeated).toMatchObject({ status: 200, body: changed.body })
    const { rows } = await sql.query(`select version from carillon.jobs where key = 'changing'`)
    expect(rows).toEqual([{ version: 3 }])
  })

  it('is answered the same by ten who ask at once', async () => {
    const wish = { ...body, timeoutSec: 8 }
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(wish, 'fourth')))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(answers[0]!.body).toMatchObject({ version: 4, timeoutSec: 8 })
  })
})

describe('a key', () => {
  it('is free again after a refusal', async () => {
    const refused = await create({ ...now, target: { pool: 'nowhere', handler: 'h' } }, 'refused')
    expect([refused.status, await entries('refused')]).toEqual([422, 0])
    expect((await create(now, 'refused')).status).toBe(201)
  })

  it('is free again after 24 hours', async () => {
    const first = await create(now, 'old')
    await sql.query(`update carillon.idempotency set at = at - interval '23 hours 50 minutes' where key = 'old'`)
    expect((await create(now, 'old')).body).toEqual(first.body)
    await sql.query(`update carillon.idempotency set at = at - interval '11 minutes' where key = 'old'`)
    const second = await create(now, 'old')
    expect(second.status).toBe(201)
    expect(second.body.jobId).not.toBe(first.body.jobId)
    expect((await create(now, 'old')).body).toEqual(second.body)
  })

  it('gets its first answer though the request would be refused by now', async () => {
    const past = { ...now, runAt: new Date(Date.now() - 3_600_000).toISOString() }
    const first = await create(past, 'past')
    expect(first.status).toBe(201)
    await sql.query(`update carillon.installation
      set floor_id = carillon.first_id(carillon.ms(clock_timestamp() - interval '30 minutes'))`)
    expect((await create(past, 'never')).body.code).toBe('TIME_OUT_OF_RANGE')
    expect(await create(past, 'past')).toMatchObject({ status: 200, body: first.body })
    expect((await create({ ...past, name: 'other' }, 'past')).body.code).toBe('IDEMPOTENCY_KEY_REUSED')
  })

  it('belongs to its route', async () => {
    const job = await create({ ...later, key: 'of-route' }, 'shared')
    const trigger = (jobId: string) =>
      node.ask(`POST /v1/jobs/${jobId}/trigger`, undefined, { 'idempotency-key': 'shared' })
    const first = await trigger(job.body.jobId)
    const again = await trigger(job.body.jobId)
    expect([first.status, again.status, again.body]).toEqual([201, 200, first.body])
    const another = await create(later, 'shared-2')
    expect((await trigger(another.body.jobId)).body.code).toBe('IDEMPOTENCY_KEY_REUSED')
  })

  it('of a batch whose answer was lost brings the same ids', async () => {
    const batch = { jobs: [now, later, { ...later, name: 'x' }] }
    const send = () => node.ask('POST /v1/jobs/batch', batch, { 'idempotency-key': 'batch' })
    const answers = await Promise.all([send(), send(), send()])
    for (const answer of answers) fitsContract('createJobs', answer)
    expect(answers.map(({ status }: Asked) => status).toSorted()).toEqual([200, 200, 201])
    expect(new Set(answers.map(({ body }: Asked) => JSON.stringify(body))).size).toBe(1)
  })
})
