import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { jwtSecret } from '../http/auth-server.ts'
import { bearer } from '../http/every-route-stage.ts'

let node: HttpNode
const as: Record<string, Record<string, string>> = {}

beforeAll(async () => {
  node = await httpNode({ auth: { jwtSecret }, engine: quickTimes })
  for (const tenant of ['a', 'b', 'pages']) as[tenant] = await bearer({ tenant })
})
afterAll(() => node[Symbol.asyncDispose]())

const steps = [{ name: 'only', target: { handler: 'h' }, payload: { secret: 'of-a-9c41' } }]
const unknown = '00000000-0000-8000-8000-000000000000'

describe('a list', () => {
  const list = async (query: string) => {
    const answer = await node.ask(`GET /v1/dags?${query}`, undefined, as.pages)
    fitsContract('listDags', answer)
    return answer.body as { items: { key: string; dagId: string }[]; nextCursor: string | null }
  }
  const keys = async (query: string) => (await list(query)).items.map(({ key }) => key)

  beforeAll(async () => {
    for (let i = 0; i < 7; i++) {
      const labels = { parity: i % 2 === 0 ? 'even' : 'odd', third: String(i % 3 === 0) }
      const body = { key: `k${i}`, labels, steps, ...(i < 3 && { managedBy: 'git' }) }
      expect((await node.ask('POST /v1/dags', body, as.pages)).status).toBe(201)
    }
    await node.ask('DELETE /v1/dags/k6', undefined, as.pages)
  })

  it('comes in pages, newest first', async () => {
    const first = await list('limit=4')
    const second = await list(`limit=4&cursor=${first.nextCursor}`)
    expect(first.items.map(({ key }) => key)).toEqual(['k5', 'k4', 'k3', 'k2'])
    expect(second.items.map(({ key }) => key)).toEqual(['k1', 'k0'])
    expect(second.nextCursor).toBeNull()
    expect((await list('limit=6')).nextCursor).toBeNull()
  })

  it('is filtered by state, key, owner and labels', async () => {
    expect(await keys('state=DELETED')).toEqual(['k6'])
    expect(await keys('state=DELETED&key=k6')).toEqual(['k6'])
    expect(await keys('key=k6')).toEqual([])
    expect(await keys('key=k2')).toEqual(['k2'])
    expect(await keys('managedBy=git')).toEqual(['k2', 'k1', 'k0'])
    expect(await keys('label=parity:odd')).toEqual(['k5', 'k3', 'k1'])
    expect(await keys('label=parity:odd&label=third:true')).toEqual(['k3'])
    expect(await keys('label=third:true&limit=1')).toEqual(['k3'])
  })

  it.each(['cursor=abc', 'limit=0', 'state=GONE', 'name=x', 'label=x'])('refuses %s', async (query) => {
    const { status, body } = await node.ask(`GET /v1/dags?${query}`, undefined, as.pages)
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'VALIDATION' })
  })
})

describe('a graph of another tenant', () => {
  it('is as unknown as one that does not exist, on every route, by id and by key', async () => {
    const { body: dag } = await node.ask('POST /v1/dags', { key: 'of-a', steps }, as.a)
    const requests: [string, unknown?][] = [['GET '], ['PUT ', { steps }], ['DELETE '], ['POST /runs', {}]]
    for (const [what, body] of requests) {
      const [method, path] = what.split(' ') as [string, string]
      for (const reference of [dag.dagId, 'of-a', unknown]) {
        const answer = await node.ask(`${method} /v1/dags/${reference}${path}`, body, as.b)
        expect([what, answer.status, answer.body.code]).toEqual([what, 404, 'DAG_NOT_FOUND'])
        expect(JSON.stringify(answer.body)).not.toContain('9c41')
      }
    }
    expect((await node.ask('GET /v1/dags', undefined, as.b)).body.items).toEqual([])
    expect((await node.ask('GET /v1/dags?key=of-a', undefined, as.b)).body.items).toEqual([])
    expect((await node.ask('GET /v1/dag-runs?dagId=of-a', undefined, as.b)).body.items).toEqual([])
    const own = await node.ask('POST /v1/dags', { key: 'of-a', steps }, as.b)
    expect(own.status).toBe(201)
    expect((await node.ask('GET /v1/dags/of-a', undefined, as.a)).body).toEqual(dag)
  })
})

describe('a token', () => {
  it('needs jobs:read to read, and jobs:write to change', async () => {
    const reader = await bearer({ tenant: 'a', but: 'jobs:write' })
    const writer = await bearer({ tenant: 'a', but: 'jobs:read' })
    const { body: dag } = await node.ask('POST /v1/dags', { steps }, as.a)
    const status = async (what: string, headers: Record<string, string>, body?: unknown) =>
      (await node.ask(what, body, headers)).status
    for (const what of [`GET /v1/dags/${dag.dagId}`, 'GET /v1/dags', `GET /v1/dag-runs/${unknown}`, 'GET /v1/dag-runs'])
      expect([what, await status(what, writer)]).toEqual([what, 403])
    expect(await status('POST /v1/dags', reader, { steps })).toBe(403)
    expect(await status(`PUT /v1/dags/${dag.dagId}`, reader, { steps })).toBe(403)
    expect(await status(`DELETE /v1/dags/${dag.dagId}`, reader)).toBe(403)
    expect(await status(`POST /v1/dags/${dag.dagId}/runs`, reader, {})).toBe(403)
    expect(await status('POST /v1/dag-runs', reader, { steps })).toBe(403)
    expect(await status(`POST /v1/dag-runs/${unknown}/cancel`, reader)).toBe(403)
  })

  it('without jobs:read is not shown the payloads of steps, not even those it sent', async () => {
    const writer = await bearer({ tenant: 'a', but: 'jobs:read' })
    const answer = await node.ask('POST /v1/dags', { steps }, writer)
    expect(answer).toMatchObject({ status: 201, body: { steps: [{ name: 'only', payload: null }] } })
    expect(JSON.stringify(answer.body)).not.toContain('9c41')
  })
})
