/** What an operator sees of subscriptions while Kafka is away, and how one is ended. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { carillon } from './cli.ts'

let node: HttpNode
let sql: pg.Client
const at = () => ({ env: { DATABASE_URL: node.databaseUrl } })

beforeAll(async () => {
  // Nothing listens there.
  node = await httpNode({ engine: { publishEvents: 'kafka://127.0.0.1:1/away', figuresEveryMs: 100 } })
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql?.end()
  await node?.[Symbol.asyncDispose]()
})

async function metrics(): Promise<string> {
  return (await fetch(`${node.url}/metrics`)).text()
}

it('metrics say that Kafka is away and how far the subscriptions lag behind', async () => {
  await node.ask('POST /v1/jobs', { type: 'ONE_SHOT', target: { handler: 'x' } })
  await until(async () => (await metrics()).includes('carillon_server_away{server="kafka"} 1'))
  const lag = /carillon_subscription_lag\{subscription="kafka",source="EVENTS"\} [1-9]/
  await until(async () => lag.test(await metrics()))
  const text = await metrics()
  expect(text).toMatch(/carillon_subscription_lag_seconds\{subscription="kafka",source="AUDIT"\} \d/)
  expect(text).toContain('carillon_subscription_gaps_total{subscription="kafka",source="EVENTS"} 0')
})

it('the doctor names them, and says when no node serves them', async () => {
  const served = await carillon(['doctor'], at())
  expect(served.stdout).toMatch(/subscriptions +kafka to EVENTS: \d+ undelivered, the oldest for \d+ s; served by/)
  await node.node.stop()
  await sql.query(`update carillon.subscriptions set served_at = served_at - interval '10 minutes'`)
  const { stdout } = await carillon(['doctor'], at())
  expect(stdout).toMatch(/WARN +subscriptions +kafka to EVENTS: .*; no node serves it for 10 min/)
  expect(stdout).toContain('carillon events unsubscribe kafka')
})

it('they are listed, and ended by a command', async () => {
  const list = await carillon(['events', 'subscriptions'], at())
  expect(list.stdout).toMatch(/kafka +EVENTS +\d+ +\d+/)
  expect(list.stdout).toMatch(/kafka +AUDIT/)
  const ended = await carillon(['events', 'unsubscribe', 'kafka', '--json'], at())
  expect(ended).toMatchObject({ exitCode: 0 })
  expect(ended.json()).toEqual([{ name: 'kafka', ended: true }])
  expect((await carillon(['events', 'subscriptions'], at())).stderr).toContain('No subscriptions.')
  expect(await carillon(['events', 'unsubscribe', 'kafka'], at())).toMatchObject({ exitCode: 1 })
  const { rows } = await sql.query(
    `select action, actor from carillon.audit where subject = 'kafka' and action like 'subscription.%' order by audit_id`,
  )
  expect(rows.map(({ action }) => action)).toEqual([
    ...['subscription.created', 'subscription.created', 'subscription.deleted'],
  ])
  const { rows: listeners } = await sql.query('select from carillon.event_listeners')
  expect(listeners).toEqual([])
})
