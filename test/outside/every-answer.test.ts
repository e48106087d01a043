/** What holds for every address and every answer, whichever operation it is: taken from the contract. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, operations, type Stage, secrets, send, stage } from '../integration/http/every-route-stage.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'

let on: Stage
let openNode: HttpNode

beforeAll(async () => {
  on = await stage()
  openNode = await httpNode()
})
afterAll(async () => {
  await on?.[Symbol.asyncDispose]()
  await openNode?.[Symbol.asyncDispose]()
})

const someId = '00000000-0000-8000-8000-000000000000'
const addressOf = (path: string) => path.replace(/:name\b/, 'default').replace(/:\w+/g, someId)
const paths = [...new Set(operations.map(([, { path }]) => path))]

/** fetch does not let its caller say Host or Sec-Fetch-Site. */
function raw(url: string, method: string, headers: Record<string, string>) {
  return new Promise<{ status: number; headers: Record<string, unknown> }>((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      answer.resume()
      resolve({ status: answer.statusCode!, headers: answer.headers })
    })
    sent.on('error', reject).end()
  })
}

describe('every answer', () => {
  const kept = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' }

  it.each(operations)('%s is not cached and taken for what it says it is', async (...operation) => {
    const answer = await send(on, operation, on.asA)
    expect(Object.fromEntries(answer.headers)).toMatchObject(kept)
  })

  it('of what is refused too', async () => {
    const url = on.node.url
    for (const [path, method] of [
      ['/nowhere', 'GET'],
      ['/v1/jobs', 'DELETE'],
      ['/v1/jobs', 'GET'],
      ['/%zz', 'GET'],
    ] as const) {
      expect((await raw(url + path, method, {})).headers, path).toMatchObject(kept)
    }
  })

  it.each(paths)('%s says which methods it takes', async (path) => {
    // `/v1/jobs/batch` may also be a job with the key `batch`.
    const keyed = /^\/v1\/jobs\/\w+$/.test(path) ? '/v1/jobs/:jobId' : path
    const at = operations.filter(([, each]) => each.path === path || each.path === keyed)
    const taken = [...new Set(at.map(([, { method }]) => method as string))]
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'PROPFIND', 'SEARCH']) {
      if (taken.includes(method)) continue
      const { status, headers } = await raw(on.node.url + addressOf(path), method, on.asA)
      expect([method, status]).toEqual([method, 405])
      expect((headers.allow as string).split(', ').sort()).toEqual(taken.sort())
    }
  })
})

describe('a node without tokens', () => {
  const refused = [
    ['a page of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
    ['a page of a sister site', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }],
    [
      'a frame in another page',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    ],
    ['another origin', { origin: 'https://evil.example.com' }],
    ['a name that was made to lead here', { host: 'evil.example.com' }],
  ] as const

  it.each(operations)('%s is not for pages of others', async (_, { method, path }) => {
    for (const [who, headers] of refused) {
      const { status } = await raw(openNode.url + addressOf(path), method, headers as Record<string, string>)
      expect([who, status]).toEqual([who, 401])
    }
  })

  it('answers programs, its own pages, and a link that somebody follows', async () => {
    const url = `${openNode.url}/docs`
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    for (const headers of [{}, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, link]) {
      expect((await raw(url, 'GET', headers as Record<string, string>)).status).toBe(200)
    }
    expect((await raw(`${openNode.url}/v1/jobs`, 'POST', link)).status).toBe(401)
  })
})

describe('a caller who may change jobs but not read them', () => {
  it.each(operations.filter(([, { scope }]) => scope === 'jobs:write'))('%s shows no data', async (...operation) => {
    const answer = await send(on, operation, await bearer({ tenant: secrets.tenant, but: 'jobs:read' }))
    expect(answer.status).not.toBe(403)
    expect(JSON.stringify(answer.body)).not.toContain(secrets.payload)
  })

  it('a change of nothing shows no payload either', async () => {
    const writer = await bearer({ tenant: secrets.tenant, but: 'jobs:read' })
    const made = { type: 'CRON', schedule: '0 3 * * *', target: { handler: 'h' }, payload: secrets.payload }
    const { body } = await on.node.ask('POST /v1/jobs', made, on.asA)
    const patched = await on.node.ask(`PATCH /v1/jobs/${body.jobId}`, {}, writer)
    expect(patched).toMatchObject({ status: 200, body: { jobId: body.jobId, payload: null } })
    expect((await on.node.ask(`PATCH /v1/jobs/${body.jobId}`, {}, on.asA)).body.payload).toBe(secrets.payload)
  })
})

it('text that is not UTF-8 is refused', async () => {
  const body = Buffer.concat([
    Buffer.from('{"type":"ONE_SHOT","target":{"handler":"h"},"payload":"'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('"}'),
  ])
  const headers = { 'content-type': 'application/json', ...on.asA }
  const answer = await fetch(`${on.node.url}/v1/jobs`, { method: 'POST', headers, body })
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'BODY_MALFORMED'])
})
