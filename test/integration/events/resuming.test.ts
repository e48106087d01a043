/** Whoever comes back, at whichever node, misses nothing and gets nothing twice; or is told that it cannot be said. */

import { silentLogger } from '@carillon/contract/process'
import { createClient } from '@carillon/sdk'
import { createCarillon, defineHandler } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import { EventPruner } from '../../../packages/server/src/upkeep/event-pruner.ts'
import { ask, type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { Tail } from './tail.ts'

let on: HttpNode
let sql: pg.Pool
const urls: string[] = []

beforeAll(async () => {
  on = await httpNode()
  urls.push(on.url, (await on.another()).url)
  sql = new pg.Pool({ connectionString: on.databaseUrl, max: 4 })
})
afterAll(async () => {
  await sql?.end()
  await on?.[Symbol.asyncDispose]()
})

const nobodys = { type: 'ONE_SHOT', target: { handler: 'nobody-has-it' } } as const

async function submit(tenant = 'default'): Promise<string> {
  const { body } = await on.ask('POST /v1/jobs', nobodys, { 'carillon-tenant': tenant })
  return body.jobId
}

describe('a listener that is cut off again and again', () => {
  it('and goes on at the other node each time, while 5,000 executions run', { timeout: 90_000 }, async () => {
    const work = defineHandler<null>({ name: 'work' })
    const worker = await createCarillon({ databaseUrl: on.databaseUrl, logLevel: 'fatal' })
    worker.handle(work, { concurrency: 200 }, () => null)
    await worker.start()
    const tails = [await Tail.open(urls[0]!)]
    const told = () => tails.flatMap(({ events }) => events)
    const submitting = (async () => {
      for (let i = 0; i < 10; i++) {
        const jobs = Array.from({ length: 500 }, () => ({
          type: 'ONE_SHOT',
          target: { handler: 'work' },
          payload: null,
        }))
        await ask(urls[i % 2]!, 'POST /v1/jobs/batch', { jobs })
      }
    })()
    for (let done = 0; done < 5_000; ) {
      const tail = tails.at(-1)!
      await tail.until((t) => t.events.length > 700 || done + ends(t) >= 5_000)
      await tail.close()
      done += ends(tail)
      const { place } = tail
      tails.push(await Tail.open(urls[tails.length % 2]!, '', { 'last-event-id': place }))
    }
    await submitting
    await worker.stop()
    for (const tail of tails) await tail.close()

    const { rows } = await sql.query(`select event_id from carillon.events where tenant = 'default' order by event_id`)
    expect(told().map(({ eventId }) => eventId)).toEqual(rows.map(({ event_id }) => Number(event_id)))
    const { rows: ledger } = await sql.query(
      `select execution_id id from carillon.executions where handler = 'work' and state = 'SUCCEEDED'`,
    )
    const lives = Map.groupBy(told(), ({ executionId }) => executionId)
    expect(ledger.length).toBe(5_000)
    for (const { id } of ledger) {
      const life = lives.get(id)!.map(({ type }) => type)
      expect(life).toEqual(['execution.fired', 'execution.started', 'execution.succeeded'])
    }
    expect(tails.length).toBeGreaterThan(5)
  })
})

function ends({ events }: Tail): number {
  return events.filter(({ type }) => type === 'execution.succeeded').length
}

describe('a listener that comes back', () => {
  it('without having heard anything goes on from where it listened', async () => {
    const first = await Tail.open(on.url)
    await first.until((t) => t.place !== '')
    await first.close()
    const id = await submit()
    await using again = await Tail.open(urls[1]!, '', { 'last-event-id': first.place })
    await again.until((t) => t.of(id).length > 0)
    expect(again.types).not.toContain('reset')
  })

  it('and asks only for what is there by now gets that, and the stream ends', async () => {
    const first = await Tail.open(on.url, '?waitSec=0')
    await first.until((t) => t.ended)
    const id = await submit()
    const seen: string[] = []
    for (let place = first.place; seen.length === 0; ) {
      await using again = await Tail.open(on.url, '?waitSec=0', { 'last-event-id': place })
      await again.until((t) => t.ended)
      place = again.place
      seen.push(...again.of(id))
    }
    expect(seen).toEqual(['execution.fired'])
  })

  it.each([
    ['after what it knows was removed', forgetAll],
    ['after nobody has listened for a while', lapse],
  ])('%s is told so, and hears what comes', async (_, happened) => {
    const tenant = `t-${happened.name}`
    const headers = { 'carillon-tenant': tenant }
    const first = await Tail.open(on.url, '', headers)
    await submit(tenant)
    await first.until((t) => t.events.length === 1)
    await first.close()
    await submit(tenant)
    await happened(tenant)
    await using again = await Tail.open(urls[1]!, '', { ...headers, 'last-event-id': String(first.ids[0]) })
    const id = await submit(tenant)
    await again.until((t) => t.of(id).length === 1)
    expect(again.types).toEqual(['reset', 'execution.fired'])
    expect(again.all[0]).toMatchObject({ type: 'reset', tenant })
  })

  it('with an id that was never given out is told so', async () => {
    await using tail = await Tail.open(on.url, '', { 'last-event-id': '999999999999' })
    await tail.until((t) => t.types.includes('reset'))
    const id = await submit()
    await tail.until((t) => t.of(id).length === 1)
  })
})

async function forgetAll(): Promise<void> {
  const database = new Database({
    ...{ url: on.databaseUrl, maxConnections: 1, statementTimeoutMs: 10_000, applicationName: 'test' },
  })
  await new EventPruner({ database, logger: createLogger('silent'), keptMs: -1_000 }).runOnce()
  await database.end()
  const { rows } = await sql.query('select count(*)::int n from carillon.events')
  expect(rows[0].n).toBe(0)
}

async function lapse(tenant: string): Promise<void> {
  await sql.query(`update carillon.event_listeners set until = now() where tenant = $1`, [tenant])
}

describe('the client', () => {
  it('goes on at another node when its own stops, and ends when told', async () => {
    const third = await on.another()
    const stopping = new AbortController()
    // Each begins at a node of its own choice.
    const clients = Array.from({ length: 4 }, () => createClient({ urls: [third.url, on.url], logger: silentLogger }))
    const listening = clients.map((client) => {
      const heard: string[] = []
      const over = (async () => {
        for await (const event of client.events({ types: ['execution.fired'], signal: stopping.signal })) {
          heard.push(event.type === 'reset' ? 'reset' : event.executionId!)
        }
      })()
      return { heard, over }
    })
    const ids: string[] = []
    // Until it has connected nothing is promised.
    while (listening.some(({ heard }) => heard.length === 0)) ids.push(await submit())
    await third.stop()
    for (let i = 0; i < 20; i++) ids.push(await submit())
    await until(() => listening.every(({ heard }) => heard.includes(ids.at(-1)!)))
    stopping.abort()
    for (const { heard, over } of listening) {
      await over
      expect(heard).toEqual(ids.slice(ids.indexOf(heard[0]!)))
    }
    for (const client of clients) await client.close()
  })

  it('is refused as any request is', async () => {
    await using client = createClient({ urls: [on.url], logger: silentLogger, patienceMs: 0 })
    const types = ['nonsense'] as never
    await expect(client.events({ types }).next()).rejects.toMatchObject({ code: 'VALIDATION' })
    await using nobody = createClient({ urls: ['http://127.0.0.1:1'], logger: silentLogger, patienceMs: 0 })
    await expect(nobody.events().next()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})
