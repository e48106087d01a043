/** `carillon stats`, and a node whose metrics have a port of their own. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Tally } from '../../../packages/server/src/stats/tally.ts'
import { Database } from '../../../packages/server/src/store/database.ts'
import { writeStats } from '../../../packages/server/src/store/stats/write.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { carillon } from './cli.ts'

let node: HttpNode
const url = () => ['--url', node.url]

beforeAll(async () => {
  node = await httpNode()
  const { databaseUrl } = node
  const database = new Database({
    url: databaseUrl,
    maxConnections: 1,
    statementTimeoutMs: 9_000,
    applicationName: 'test',
  })
  const tally = new Tally()
  Object.assign(tally, { created: 7, started: 6, succeeded: 5, failed: 1, onTime: 1 })
  tally.duration.measure(1_000)
  tally.lateness.measure(12)
  tally.lateness.measure(2_000)
  const { buckets, until } = (await node.ask('GET /v1/stats')).body
  expect(buckets).toEqual([])
  const at = Math.floor(Date.parse(until) / 60_000) * 60_000
  const row = { tenant: 'default', at, figures: tally.stored() }
  const places = [
    { pool: '', handler: '' },
    { pool: 'p', handler: '' },
    { pool: 'p', handler: 'invoice' },
  ]
  const rows = places.map((place) => ({ ...row, ...place }))
  await writeStats(database, { step: 'MINUTE', nodeId: null, rows })
  await database.end()
})
afterAll(() => node?.[Symbol.asyncDispose]())

it('shows a summary, the minutes and the handlers', async () => {
  const { exitCode, stdout } = await carillon(['stats', ...url()])
  expect(exitCode).toBe(0)
  expect(stdout).toContain('7 created, 5 succeeded, 1 attempts failed, 0 dead, 50.00 % of 2 fires on time')
  expect(stdout).toMatch(/^FROM +CREATED +STARTED +SUCCEEDED +FAILED/m)
  expect(stdout).toMatch(/^invoice +7 +6 +5 +1 +0 /m)
  expect(stdout).toMatch(/ (9\d\d ms|1\.0 s)$/m)
})

it('prints the answer as JSON, and says when nothing happened', async () => {
  const [answer] = (await carillon(['stats', '--handler', 'invoice', '--json', ...url()])).json()
  expect(answer).toMatchObject({ step: 'MINUTE', total: { created: 7 }, handlers: [{ handler: 'invoice' }] })
  const quiet = await carillon(['stats', '--pool', 'quiet', ...url()])
  expect(quiet).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Nothing happened in that time.') })
  const far = await carillon(['stats', '--from', '9d', ...url()])
  expect(far).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('step=HOUR') })
})
