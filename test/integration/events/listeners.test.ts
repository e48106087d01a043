/** Listeners beside each other: what each may see, how many there may be, and what a bad one costs the others. */
import { connect } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { inSec, jwtSecret, token } from '../http/auth-server.ts'
import { Tail } from './tail.ts'

let on: HttpNode
let sql: pg.Pool

beforeAll(async () => {
  on = await httpNode()
  sql = new pg.Pool({ connectionString: on.databaseUrl, max: 4 })
})
afterAll(async () => {
  await sql?.end()
  await on?.[Symbol.asyncDispose]()
})

const as = (tenant: string) => ({ 'carillon-tenant': tenant })
const yearly = { type: 'CRON', schedule: '0 3 1 1 *', target: { handler: 'h' } }

async function create(tenant: string, more: object = {}): Promise<string> {
  const { body } = await on.ask('POST /v1/jobs', { ...yearly, ...more }, as(tenant))
  return body.jobId
}

/** Many events at once, as large as wished. */
async function flood(tenant: string, { events, bytes }: { events: number; bytes: number }): Promise<void> {
  await sql.query(
    `insert into carillon.events (at, tenant, type, job_id, detail)
     select clock_timestamp(), $1, 'job.updated', gen_random_uuid(), jsonb_build_object('name', repeat('x', $3))
     from generate_series(1, $2::int)`,
    [tenant, events, bytes],
  )
}

describe('while nobody listens', () => {
  it('nothing is written', async () => {
    const jobId = await create('nobody')
    await on.ask(`POST /v1/jobs/${jobId}/trigger`, {}, as('nobody'))
    await using _other = await Tail.open(on.url, '', as('somebody'))
    await on.ask(`POST /v1/jobs/${jobId}/pause`, undefined, as('nobody'))
    await on.ask('POST /v1/jobs', { type: 'ONE_SHOT', target: { handler: 'h' } }, as('nobody'))
    const { rows } = await sql.query(`select count(*)::int n from carillon.events where tenant = 'nobody'`)
    expect(rows[0].n).toBe(0)
  })
})

describe('a listener', () => {
  it('sees its own tenant’s events and no others, also when it names their ids', async () => {
    await using a = await Tail.open(on.url, '', as('a'))
    await using b = await Tail.open(on.url, '', as('b'))
    const ofA = [await create('a'), await create('a')]
    const ofB = [await create('b')]
    await a.until((t) => t.ids.length === 2)
    await b.until((t) => t.ids.length === 1)
    expect(a.events.map(({ jobId }) => jobId)).toEqual(ofA)
    expect(b.events.map(({ jobId }) => jobId)).toEqual(ofB)
    await using again = await Tail.open(on.url, '', { ...as('b'), 'last-event-id': String(a.ids[0]) })
    await again.until((t) => t.ids.length === 1)
    expect(again.events.map(({ jobId }) => jobId)).toEqual(ofB)
  })

  it('may ask for some types and one job only, and still knows how far the stream has come', async () => {
    await using jobs = await Tail.open(on.url, '?type=job.*&type=execution.dead', as('f'))
    await using paused = await Tail.open(on.url, '?type=job.paused', as('f'))
    const [one, other] = [await create('f'), await create('f')]
    await using of = await Tail.open(on.url, `?jobId=${other.toUpperCase()}`, as('f'))
    for (const id of [one, other]) await on.ask(`POST /v1/jobs/${id}/trigger`, {}, as('f'))
    await on.ask(`POST /v1/jobs/${other}/pause`, undefined, as('f'))
    await jobs.until((t) => t.types.includes('job.paused'))
    await paused.until((t) => t.ids.length === 1)
    await of.until((t) => t.types.includes('job.paused'))
    expect(jobs.types).toEqual(['job.created', 'job.created', 'job.paused'])
    expect(paused.types).toEqual(['job.paused'])
    expect(of.types).toEqual(['execution.fired', 'job.paused'])
    expect(Number(of.place)).toBeGreaterThanOrEqual(of.ids.at(-1)!)
  })

  it.each([
    ['/last-event-id', '', { 'last-event-id': 'abc' }],
    ['/last-event-id', '', { 'last-event-id': '-1' }],
    ['/last-event-id', '', { 'last-event-id': '1e3' }],
    ['/type/0', '?type=execution.eaten', {}],
    ['/type/1', '?type=job.*&type=*', {}],
    ['/jobId', '?jobId=', {}],
    ['/waitSec', '?waitSec=-1', {}],
    ['/waitSec', '?waitSec=86400', {}],
    ['/since', '?since=1', {}],
  ])('is told what is wrong: %s %s', async (pointer, query, headers) => {
    const { status, body } = await on.ask(`GET /v1/events${query}`, undefined, headers as Record<string, string>)
    expect({ status, code: body.code, at: body.errors[0].pointer }).toEqual({
      status: 422,
      code: 'VALIDATION',
      at: pointer,
    })
  })

  it('may not be one of more than a hundred of its tenant, and others are let in', async () => {
    const tails = await Promise.all(Array.from({ length: 100 }, () => Tail.open(on.url, '', as('many'))))
    const { status, body, headers } = await on.ask('GET /v1/events', undefined, as('many'))
    expect({ status, code: body.code }).toEqual({ status: 429, code: 'RATE_LIMITED' })
    expect(headers.get('retry-after')).toBe('1')
    await using _other = await Tail.open(on.url, '', as('few'))
    const id = await create('many')
    for (const tail of tails) await tail.until((t) => t.of(id).length === 1)
    await tails[0]!.close()
    // Its place is free as soon as the node has noticed.
    await until(async () => {
      const answer = await on.ask('GET /v1/events?waitSec=0', undefined, as('many'))
      return answer.status === 200
    })
    for (const tail of tails) await tail.close()
  })

  it('that does not read holds up nobody, loses nothing, and goes on when it reads again', async () => {
    const { hostname, port } = new URL(on.url)
    const lazy = connect(Number(port), hostname)
    let text = ''
    lazy.on('data', (chunk) => (text += chunk))
    lazy.write(`GET /v1/events HTTP/1.1\r\nhost: ${hostname}\r\ncarillon-tenant: lazy\r\n\r\n`)
    await until(() => text.includes('id: '))
    lazy.pause()
    await using quick = await Tail.open(on.url, '', as('lazy'))
    await flood('lazy', { events: 4_000, bytes: 5_000 })
    await quick.until((t) => t.ids.length === 4_000)
    lazy.resume()
    await until(() => text.match(/^id: \d+\nevent/gm)?.length === 4_000)
    const ids = [...text.matchAll(/^id: (\d+)\nevent/gm)].map(([, id]) => Number(id))
    expect(ids).toEqual(quick.ids)
    lazy.destroy()
  })
})

describe('a stream', () => {
  it('ends when its node stops, which does not wait, and goes on at another', async () => {
    const second = await on.another()
    const tail = await Tail.open(second.url, '', as('s'))
    const before = await create('s')
    await tail.until((t) => t.of(before).length === 1)
    await second.stop()
    await tail.until((t) => t.ended)
    const after = await create('s')
    await using again = await Tail.open(on.url, '', { ...as('s'), 'last-event-id': tail.place })
    await again.until((t) => t.ids.length === 1)
    expect(again.of(after)).toEqual(['job.created'])
  })

  it('ends when the token of its caller runs out', async () => {
    await using guarded = await httpNode({ auth: { jwtSecret } })
    const bearer = async (exp: number) => ({ authorization: `Bearer ${await token({ exp })}` })
    // Taken for a few seconds more: clocks differ.
    await using short = await Tail.open(guarded.url, '', await bearer(inSec(-2)))
    await using long = await Tail.open(guarded.url, '', await bearer(inSec(600)))
    await short.until((t) => t.ended)
    expect(long.ended).toBe(false)
  })
})
