import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { type WorkedNode, workedNode } from './worked-node.ts'

let node: WorkedNode
const hourMs = 3_600_000
const now = Date.now()
const at = (ms: number) => encodeURIComponent(new Date(ms).toISOString())

beforeAll(async () => {
  node = await workedNode()
})
afterAll(() => node[Symbol.asyncDispose]())

async function list(query: string, path = '/v1/executions', headers = {}) {
  const answer = await node.ask(`GET ${path}${query && `?${query}`}`, undefined, headers)
  if (answer.status === 200) fitsContract(path === '/v1/dead-letters' ? 'listDeadLetters' : 'listExecutions', answer)
  return answer
}

const idsOf = async (query: string, path?: string, headers = {}): Promise<string[]> =>
  (await list(query, path, headers)).body.items.map((item: { executionId: string }) => item.executionId)

describe('lists of executions', () => {
  it('by what they are about, newest first', async () => {
    const mine = { 'carillon-tenant': 'filters' }
    const seeded = { tenant: 'filters', at: now - hourMs }
    const dead = await node.seed(3, { ...seeded, error: 'Broken', labels: { team: 'a', tier: 'gold' } })
    const good = await node.seed(2, { ...seeded, at: now - 2 * hourMs, state: 'SUCCEEDED', labels: { team: 'b' } })
    const other = await node.seed(2, { ...seeded, at: now - 3 * hourMs, state: 'CANCELLED', handler: 'g', pool: 'p' })
    const all = [...dead.toReversed(), ...good.toReversed(), ...other.toReversed()]
    expect(await idsOf('', undefined, mine)).toEqual(all)
    const cases: [string, string[]][] = [
      ['state=DEAD', dead],
      ['state=SUCCEEDED', good],
      ['state=CANCELLED', other],
      ['state=SKIPPED', []],
      ['state=BLOCKED', []],
      ['state=PENDING', []],
      ['state=RUNNING', []],
      ['handler=g', other],
      ['pool=p', other],
      ['error=Broken', dead],
      ['error=Other', []],
      ['origin=SUBMIT&state=DEAD', dead],
      ['origin=BACKFILL', []],
      ['label=team:a', dead],
      ['label=team:a&label=tier:gold', dead],
      ['label=team:a&label=tier:silver', []],
      [`jobId=${good[0]}`, [good[0]!]],
      [`jobId=${good[0]!.toUpperCase()}`, [good[0]!]],
      [`jobId=${good[0]}&state=DEAD`, []],
      ['key=nobody', []],
      [`from=${at(now - 2.5 * hourMs)}&to=${at(now - 1.5 * hourMs)}`, good],
      [`to=${at(now - 2.5 * hourMs)}`, other],
    ]
    for (const [query, expected] of cases) {
      expect(await idsOf(query, undefined, mine), query).toEqual(expected.toReversed())
    }
    expect(await idsOf('', '/v1/dead-letters', mine)).toEqual(dead.toReversed())
    expect(await idsOf('', '/v1/dead-letters', { 'carillon-tenant': 'nobody' })).toEqual([])
  })

  it('without a job and a time: of the last 24 hours; dead letters of all times', async () => {
    const mine = { 'carillon-tenant': 'old' }
    // The history of a new installation begins here, 24 to 48 hours ago.
    const yesterday = new Date(now).setUTCHours(-24, 0, 0, 0)
    const [old] = await node.seed(1, { tenant: 'old', at: yesterday + 1 })
    expect(await idsOf('', undefined, mine)).toEqual([])
    expect(await idsOf('state=DEAD', undefined, mine)).toEqual([])
    expect(await idsOf(`from=${at(yesterday)}`, undefined, mine)).toEqual([old])
    expect(await idsOf(`jobId=${old}`, undefined, mine)).toEqual([old])
    expect(await idsOf('', '/v1/dead-letters', mine)).toEqual([old])
  })

  it('page after page: each once, none left out', async () => {
    const mine = { 'carillon-tenant': 'pages' }
    const ids = await node.seed(25, { tenant: 'pages' })
    for (const path of ['/v1/executions', '/v1/dead-letters']) {
      const seen: string[] = []
      let cursor = ''
      do {
        const { body } = await list(`limit=10${cursor && `&cursor=${cursor}`}`, path, mine)
        seen.push(...body.items.map((item: { executionId: string }) => item.executionId))
        cursor = body.nextCursor ?? ''
      } while (cursor)
      expect(seen).toEqual(ids.toReversed())
    }
  })

  it('a dead letter that was purged is not listed, and is dead all the same', async () => {
    const mine = { 'carillon-tenant': 'purged' }
    const [first, second] = await node.seed(2, { tenant: 'purged' })
    const purge = (id: string | undefined, headers = mine) =>
      node.ask(`DELETE /v1/dead-letters/${id}`, undefined, headers)
    expect((await purge(first, { 'carillon-tenant': 'other' })).body.code).toBe('EXECUTION_NOT_FOUND')
    const listed = () => idsOf('', '/v1/dead-letters', mine)
    expect(await listed()).toEqual([second, first])
    for (let times = 0; times < 2; times++) fitsContract('purgeDeadLetter', await purge(first!.toUpperCase()))
    expect(await listed()).toEqual([second])
    expect(await idsOf('', undefined, mine)).toEqual([second, first])
    expect((await node.ask(`GET /v1/executions/${first}`, undefined, mine)).body.state).toBe('DEAD')
    const [done] = await node.seed(1, { tenant: 'purged', state: 'SUCCEEDED' })
    expect((await purge(done)).body.code).toBe('STATE_CONFLICT')
  })

  it('a filter that fits little ends a page early, and goes on', async () => {
    const mine = { 'carillon-tenant': 'rare' }
    const [first] = await node.seed(1, { tenant: 'rare', state: 'SUCCEEDED', handler: 'rare', at: now - 10 * hourMs })
    await node.seed(6_000, { tenant: 'rare', state: 'SUCCEEDED', handler: 'common', at: now - hourMs })
    const { body } = await list('handler=rare', undefined, mine)
    expect(body.items).toEqual([])
    expect(await idsOf(`handler=rare&cursor=${body.nextCursor}`, undefined, mine)).toEqual([first])
  })

  it('weigh no more than can be carried', async () => {
    const mine = { 'carillon-tenant': 'heavy' }
    const ids = await node.seed(60, { tenant: 'heavy' })
    const payload = JSON.stringify('x'.repeat(250_000))
    await node.sql.query(`update carillon.executions set payload = $1 where tenant = 'heavy'`, [payload])
    const { body } = await list('', undefined, mine)
    expect(body.items.length).toBeLessThan(40)
    expect(body.items.length).toBeGreaterThan(20)
    const rest = await idsOf(`cursor=${body.nextCursor}`, undefined, mine)
    expect([...body.items.map((item: { executionId: string }) => item.executionId), ...rest]).toEqual(ids.toReversed())
  })

  it('where the row stands is its state', async () => {
    const running = await node.submit({ how: 'stay' })
    await node.reach(running, 'RUNNING')
    const failed = await node.submit({ how: 'throw' }, { retryPolicy: { initialDelayMs: 3_600_000 } })
    await node.reach(failed, 'FAILED')
    await node.sql.query(`insert into carillon.pools (pool) values ('idle')`)
    const pending = await node.submit({}, { target: { handler: 'act', pool: 'idle' } })
    for (const [state, id] of [
      ['RUNNING', running],
      ['FAILED', failed],
      ['PENDING', pending],
    ]) {
      expect(await idsOf(`state=${state}`), state).toEqual([id])
      expect(await idsOf(`state=${state}&jobId=${id}`), state).toEqual([id])
    }
    node.letGo()
  })

  it('of a job: by its id, also by its key', async () => {
    const job = { name: 'j', key: 'my key', type: 'INTERVAL', interval: 'PT1H', target: { handler: 'act' } }
    const { jobId } = (await node.ask('POST /v1/jobs', { ...job, payload: { how: 'answer' } })).body
    const empty = await node.ask(`GET /v1/jobs/${jobId}/executions`)
    fitsContract('listJobExecutions', empty)
    expect(empty.body).toEqual({ items: [], nextCursor: null })
    const { executionId } = (await node.ask(`POST /v1/jobs/${jobId}/trigger`)).body
    await node.reach(executionId, 'SUCCEEDED')
    const { body } = await node.ask(`GET /v1/jobs/${jobId}/executions?origin=TRIGGER&state=SUCCEEDED`)
    expect(body.items).toMatchObject([{ executionId, name: 'j', jobVersion: 1, payload: { how: 'answer' } }])
    expect(await idsOf('key=my%20key')).toEqual([executionId])
    expect(await idsOf(`key=my%20key&jobId=${executionId}`)).toEqual([])
    const elsewhere = await node.ask(`GET /v1/jobs/${jobId}/executions`, undefined, { 'carillon-tenant': 'x' })
    expect({ status: elsewhere.status, code: elsewhere.body.code }).toEqual({ status: 404, code: 'JOB_NOT_FOUND' })
    const own = await node.submit({ how: 'answer' })
    expect((await node.ask(`GET /v1/jobs/${own}/executions`)).body.items).toHaveLength(1)
  })

  it('refuse what they do not understand', async () => {
    for (const query of [
      ...['state=LOST', 'limit=0', 'limit=1001', 'cursor=abc', 'cursor=%00', 'handler=%00', 'key=%00', 'error=%00'],
      ...['label=team', 'label=a:%00', 'label=a:1&label=a:2', 'from=yesterday', 'nonsense=1', 'jobId=%00'],
      ...[`from=${at(now)}&to=${at(now)}`, 'from=2030-06-30T23:59:60Z'],
    ]) {
      const { status, body } = await list(query)
      expect({ query, status, code: body.code }).toEqual({ query, status: 422, code: 'VALIDATION' })
    }
    expect((await list('from=1970-01-01T00:00:00Z&to=9999-12-31T23:59:59Z&limit=1')).status).toBe(200)
  })
})
