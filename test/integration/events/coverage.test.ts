/** A node that was away for so long that its word ran out: its streams are told, however it comes out. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Events } from '../../../packages/server/src/events/events.ts'
import type { StreamItem } from '../../../packages/server/src/events/listener.ts'
import { createLogger } from '../../../packages/server/src/observability/logger.ts'
import { openStore, type TestStore } from '../../support/store.ts'
import { until } from '../../support/until.ts'

const logger = createLogger('silent')
let store: TestStore

beforeAll(async () => {
  store = await openStore()
})
afterAll(() => store?.[Symbol.asyncDispose]())

async function node(limits: { most?: number; mostOfTenant?: number } = {}) {
  const events = new Events({ database: store.database, logger, ...limits })
  await events.start()
  return { events, [Symbol.asyncDispose]: () => events.stop() }
}

async function listen(events: Events, tenant: string) {
  const gone = new AbortController()
  const told: StreamItem[] = []
  const stream = await events.listen({ tenant, after: null, wants: () => true, waitMs: null, signal: gone.signal })
  const over = (async () => {
    for await (const each of stream) told.push(each)
  })()
  const kinds = () => told.map(({ kind }) => kind)
  const leave = async () => {
    gone.abort()
    await over
  }
  return { told, kinds, leave }
}

function write(tenant: string) {
  return store.database.query(
    null,
    `insert into carillon.events (at, tenant, type, job_id, detail)
     values (clock_timestamp(), $1, 'job.updated', gen_random_uuid(), '{}')`,
    [tenant],
  )
}

function runOut(tenant: string) {
  return store.database.query(null, 'update carillon.event_listeners set until = now() where tenant = $1', [tenant])
}

it('when it gives its word again', async () => {
  await using home = await node()
  const one = await listen(home.events, 'a')
  await until(() => one.told.length === 1)
  await runOut('a')
  await home.events.renew()
  await until(() => one.kinds().includes('RESET'))
  await write('a')
  await until(() => one.kinds().at(-1) === 'EVENTS')
  expect(one.kinds()).toEqual(['PLACE', 'RESET', 'EVENTS'])
  await one.leave()
})

it('when another node has given its word meanwhile', async () => {
  await using home = await node()
  await using other = await node()
  const frozen = await listen(home.events, 'b')
  await until(() => frozen.told.length === 1)
  await runOut('b')
  const quick = await listen(other.events, 'b')
  await write('b')
  await until(() => quick.kinds().includes('EVENTS'))
  await until(() => frozen.kinds().includes('RESET'))
  expect(quick.kinds()).not.toContain('RESET')
  await frozen.leave()
  await quick.leave()
})

it('a word that is given in time is one and the same', async () => {
  await using home = await node()
  const one = await listen(home.events, 'c')
  await write('c')
  await home.events.renew()
  await write('c')
  await until(() => one.kinds().filter((kind) => kind === 'EVENTS').length > 0)
  expect(one.kinds()).not.toContain('RESET')
  await one.leave()
})

it('so many may listen at a node, whoever they are, and who has gone does not count', async () => {
  await using home = await node({ most: 2 })
  const first = await listen(home.events, 'd')
  const second = await listen(home.events, 'e')
  await expect(listen(home.events, 'f')).rejects.toMatchObject({ code: 'TOO_MANY_LISTENERS', status: 503 })
  await first.leave()
  expect(home.events.open).toBe(1)
  const third = await listen(home.events, 'f')
  await second.leave()
  await third.leave()
  expect(home.events.open).toBe(0)
})
