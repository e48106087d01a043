/** HTTP targets through a whole node: leased, sent, judged, kept. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, testServer } from '../../../packages/server/src/targets/http/http-target.test-support.ts'
import { openStage, type Stage } from './stage.ts'

const secret = 'Bearer 5ecret-0123456789abcdef'
let stage: Stage
let server: TestServer
/** What the server answers next, by path. */
const answers = new Map<string, { status: number; body?: string; headers?: Record<string, string> }[]>()

beforeAll(async () => {
  process.env.STAGE_SECRET_TOKEN = secret
  server = await testServer(({ url, headers }, response) => {
    if (url === '/silent') return
    const { status, body, headers: more } = answers.get(url)?.shift() ?? { status: 200, body: JSON.stringify(headers) }
    response.writeHead(status, { 'content-type': 'application/json', ...more }).end(body)
  })
  stage = await openStage({ allow: ['127.0.0.1'], secrets: ['env:STAGE_SECRET_*'] })
})
afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  delete process.env.STAGE_SECRET_TOKEN
})

const requests = (url: string) => server.received.filter((one) => one.url === url)

describe('an execution', () => {
  it('is a request, and its answer the result', async () => {
    answers.set('/done', [{ status: 201, body: '{"id":7}' }])
    const id = await stage.submit({ http: { url: `${server.url}/done` } }, {}, { invoice: 1 })
    const record = await stage.reaches(id, 'SUCCEEDED')
    expect(JSON.parse(record.result!)).toEqual({ status: 201, body: { id: 7 } })
    expect(requests('/done')).toMatchObject([{ method: 'POST', body: '{"invoice":1}' }])
    expect(requests('/done')[0]!.headers).toMatchObject({
      'carillon-execution-id': id,
      'carillon-fence': `${record.fence}`,
      'carillon-tenant': 'acme',
      'carillon-attempt': '1',
    })
    expect((await stage.logs(id)).join()).toMatch(/^POST http:\/\/127.+\/done: 201 after \d+ ms/)
  })

  it('is tried again when the target asks for it, with a later fence and the same id', async () => {
    answers.set('/busy', [{ status: 503, headers: { 'retry-after': '0' }, body: 'busy' }])
    const id = await stage.submit(
      { http: { url: `${server.url}/busy` } },
      { retryPolicy: { initialDelayMs: 3_600_000 } },
    )
    const record = await stage.reaches(id, 'SUCCEEDED')
    expect(record.history).toMatchObject([{ to: 'FAILED', error: { message: 'the target answered 503: busy' } }])
    const [first, second] = requests('/busy').map(({ headers }) => headers)
    expect(second!['carillon-execution-id']).toBe(first!['carillon-execution-id'])
    expect(Number(second!['carillon-fence'])).toBeGreaterThan(Number(first!['carillon-fence']))
    expect(second!['carillon-attempt']).toBe('2')
  })

  it('is dead when the target will never have it', async () => {
    answers.set('/gone', [{ status: 410, body: 'no more' }])
    const id = await stage.submit({ http: { url: `${server.url}/gone` } })
    expect(await stage.reaches(id, 'DEAD')).toMatchObject({
      reason: 'NOT_RETRYABLE',
      error: { message: 'the target answered 410: no more' },
    })
    expect(requests('/gone')).toHaveLength(1)
  })

  it('times out though the target is silent, and stops when it is cancelled', async () => {
    const http = { url: `${server.url}/silent` }
    const slow = await stage.submit({ http }, { timeoutSec: 0.2, retryPolicy: { maxAttempts: 1 } })
    expect(await stage.reaches(slow, 'DEAD')).toMatchObject({ error: { name: 'TimedOut' } })
    const cancelled = await stage.submit({ http }, { cancelGraceSec: 3_600 })
    await expect.poll(() => requests('/silent').length).toBe(2)
    await stage.engine.executions.cancel('acme', cancelled, { reason: 'CANCELLED', actor: 'a person' })
    await stage.reaches(cancelled, 'CANCELLED')
  })
})

describe('a job', () => {
  it('is refused for an address that may not be, with the place named', async () => {
    const refused = stage.submit({ http: { url: 'http://169.254.169.254/latest/meta-data' } })
    await expect(refused).rejects.toMatchObject({
      code: 'TARGET_NOT_ALLOWED',
      errors: [{ pointer: '/target/http/url' }],
    })
  })

  it('keeps references to secrets, never the secrets', async () => {
    const target = {
      http: {
        url: `${server.url}/echo`,
        headers: { Authorization: { secretRef: 'env:STAGE_SECRET_TOKEN' } },
        signWith: [{ secretRef: 'env:STAGE_SECRET_TOKEN' }],
      },
    }
    const echoed = await stage.submit(target)
    expect(JSON.parse((await stage.reaches(echoed, 'SUCCEEDED')).result!).body.authorization).toBe('[secret]')
    expect(requests('/echo')[0]!.headers.authorization).toBe(secret)
    answers.set('/echo', [{ status: 400, body: `you said ${secret} and ${secret.slice(7)}` }])
    const failed = await stage.submit(target)
    expect((await stage.reaches(failed, 'DEAD')).error!.message).toContain('you said [secret] and [secret]')

    const { rows } = await stage.sql.query<{ table: string }>(
      `select relname as table from pg_class where relnamespace = 'carillon'::regnamespace and relkind in ('r', 'p')`,
    )
    expect(rows.length).toBeGreaterThan(10)
    const token = requests('/echo')[0]!.headers['carillon-token']
    for (const { table } of rows) {
      const found = await stage.sql.query(
        `select from carillon.${table} t where t::text like '%5ecret-0123%' or position($1 in t::text) > 0`,
        [token],
      )
      expect([table, found.rowCount]).toEqual([table, 0])
    }
  })
})
