/**
 * Secrets by reference, through a whole node: used wherever a target may name one, by the tenant that may, and found nowhere afterwards:
 * in no table, no log line, no event and no answer.
 */
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, verifyWebhook } from '@carillon/sdk'
import { type ServedNode, serve } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestServer, testServer } from '../../../packages/server/src/targets/http/http-target.test-support.ts'
import { promptTimes } from '../../support/carillon.ts'
import { type Asked, ask } from '../../support/http-node.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { Tail } from '../events/tail.ts'

/** In every secret, and in no reference. */
const canary = 'c4n4ry'
/** In a payload: what is searched for is found if it is there. */
const control = 'c0ntr0l'
const secrets: Record<string, string> = {
  HEADER: `Bearer header-${canary}+0123/456`,
  BODY: `body-${canary}+"0123"\\456&<é>`,
  KEY: `whsec_${Buffer.from(`old key ${canary}`).toString('base64')}`,
  NEW_KEY: `new key ${canary} 0123456789`,
  ENV: `-----BEGIN-----\nline-${canary}-one\nline-${canary}-two\n-----END-----`,
}
const ref = (name: string) => ({ secretRef: `env:SECRETS_TEST_${name}` })

let home: string
let database: TestDatabase
let node: ServedNode
let server: TestServer
let other: TestServer
let events: Tail
let sql: pg.Pool
const logged: string[] = []
const answers: string[] = []
/** What the programs do: print what they found, and spell it in JSON. */
const print = `
  printf '%s\\n' "$SECRET_KEY"; printf '%s' "$SECRET_KEY" >&2
  printf '{"key":"\\\\u0063\\\\u0034n4ry-spelt-0123"}\\n'`

const level = (fields: object, message: string) => {
  const { err } = fields as { err?: Error }
  logged.push(JSON.stringify([message, fields, err?.message, err?.stack]))
}
const logger: Logger = { debug: level, info: level, warn: level, error: level }
const settings = () => ({
  databaseUrl: database.url,
  port: 0,
  engine: promptTimes,
  targets: {
    allow: ['127.0.0.1'],
    tenantSecrets: { acme: ['env:SECRETS_TEST_*', `file:${home}/secrets/*`] },
    shell: { print: join(home, 'print'), fail: join(home, 'fail') },
  },
})

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-secrets-'))
  for (const [name, end] of [
    ['print', ''],
    ['fail', 'exit 3'],
  ] as const) {
    await writeFile(join(home, name), `#!/bin/sh\n${print}\n${end}\n`)
    await chmod(join(home, name), 0o755)
  }
  const echo = (request: object) => JSON.stringify(request)
  const spelt = (text: string) =>
    text.replaceAll(/[^"{}[\]:,\\]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
  await mkdir(join(home, 'secrets'))
  await writeFile(join(home, 'secrets/key'), `file-${canary}-0123\n`)
  await writeFile(join(home, 'outside'), `outside-${canary}-0123\n`)
  await symlink(join(home, 'outside'), join(home, 'secrets/way-out'))
  server = await testServer((request, response) => {
    const { pathname } = new URL(request.url, server.url)
    const json = { 'content-type': 'application/json' }
    const [, what] = pathname.split('/')
    if (what === 'silent') return
    if (what === 'away') response.writeHead(307, { location: `${other.url}/ok/url-${canary}-away` }).end()
    else if (what === 'back') response.writeHead(308, { location: `/ok${request.url.slice(5)}` }).end()
    else if (what === 'inside') response.writeHead(307, { location: `http://10.0.0.1/url-${canary}-inside` }).end()
    else if (what === 'plain')
      response.end(`${request.method} ${request.url} ${request.body} ${request.headers.authorization}`)
    else if (what === 'spelt') response.writeHead(200, json).end(spelt(echo(request)))
    else if (what === 'long') response.end(`${'x'.repeat(262_100)} ${request.url} ${request.headers.authorization}`)
    else response.writeHead(what === 'ok' ? 200 : Number(what), json).end(echo(request))
  })
  other = await testServer((request, response) => response.end(echo(request)))
  for (const [name, value] of Object.entries(secrets)) process.env[`SECRETS_TEST_${name}`] = value
  database = await createDatabase()
  node = await serve(settings(), logger)
  events = await Tail.open(node.url, '', { 'carillon-tenant': 'acme' })
  sql = new pg.Pool({ connectionString: database.url, max: 2 })
})
afterAll(async () => {
  await sql?.end()
  await events?.[Symbol.asyncDispose]()
  await node?.stop()
  await database?.drop()
  await server?.[Symbol.asyncDispose]()
  await other?.[Symbol.asyncDispose]()
  await rm(home, { recursive: true })
  for (const name of Object.keys(process.env)) if (name.startsWith('SECRETS_TEST_')) delete process.env[name]
})

async function asked(what: string, body?: unknown, tenant = 'acme'): Promise<Asked> {
  const answer = await ask(node.url, what, body, { 'carillon-tenant': tenant })
  answers.push(JSON.stringify([answer.status, [...answer.headers], answer.body]))
  return answer
}

/** A reference to the URL. */
function secretUrl(name: string, url: string): { secretRef: string } {
  process.env[`SECRETS_TEST_URL_${name}`] = url
  return ref(`URL_${name}`)
}

const everywhere = {
  headers: { Authorization: ref('HEADER') },
  bodySecrets: { '/auth/token': ref('BODY') },
  signWith: [ref('KEY'), ref('NEW_KEY')],
}
const once = { retryPolicy: { maxAttempts: 1 } }
const pathOf = (what: string) => `/${what}/url-${canary}-0123?key=query-${canary}-0123`

/** Submits it, and waits until it has ended. */
async function ended(target: object, more: object = {}) {
  const job = { type: 'ONE_SHOT', target, payload: { control, auth: { user: 'u' } }, ...once, ...more }
  const { status, body } = await asked('POST /v1/jobs', job)
  expect([status, body.code]).toEqual([201, undefined])
  return (await asked(`GET /v1/executions/${body.jobId}?waitSec=20`)).body
}

describe('requests with secrets everywhere', () => {
  it.each<[string, string, string?]>([
    ['ok', 'SUCCEEDED'],
    ['plain', 'SUCCEEDED'],
    ['spelt', 'SUCCEEDED'],
    ['long', 'SUCCEEDED'],
    ['back', 'SUCCEEDED'],
    ['404', 'DEAD', 'PermanentError'],
    ['500', 'DEAD', 'TargetFailed'],
    ['503', 'DEAD', 'TargetFailed'],
    ['away', 'DEAD', 'PermanentError'],
    ['inside', 'DEAD', 'PermanentError'],
  ])('that end in %s are %s', async (what, state, error = '') => {
    const execution = await ended({
      http: { ...everywhere, url: secretUrl(what.toUpperCase(), server.url + pathOf(what)) },
    })
    expect(execution).toMatchObject({ state })
    expect(execution.error?.name ?? '').toMatch(error)
    const { headers, body } = server.received.findLast(({ url }) => url === pathOf(what))!
    expect(headers.authorization).toBe(secrets.HEADER)
    expect(JSON.parse(body)).toEqual({ control, auth: { user: 'u', token: secrets.BODY } })
    for (const key of [secrets.KEY!, secrets.NEW_KEY!])
      expect(verifyWebhook({ secrets: [key], headers, body })).toBeTruthy()
    expect(other.received).toEqual([])
  })

  it('to another origin lose what is not for it', async () => {
    const { bodySecrets: _, ...rest } = everywhere
    const url = secretUrl('ELSEWHERE', server.url + pathOf('away'))
    expect(await ended({ http: { ...rest, url } })).toMatchObject({ state: 'SUCCEEDED' })
    expect(other.received).toHaveLength(1)
    expect(JSON.stringify(other.received[0]!.headers)).not.toContain(canary)
  })

  it('that get no answer, or may not be sent, say which reference they were for', async () => {
    const gone = await testServer(() => {})
    await gone[Symbol.asyncDispose]()
    const to = (name: string, url: string) => ended({ http: { ...everywhere, url: secretUrl(name, url) } })
    expect((await to('GONE', gone.url + pathOf('ok'))).error.message).toBe(
      'no answer from env:SECRETS_TEST_URL_GONE (ECONNREFUSED)',
    )
    expect((await to('PRIVATE', `http://10.0.0.1/${canary}`)).error.message).toBe(
      'the URL in env:SECRETS_TEST_URL_PRIVATE leads to an address that is private',
    )
    expect((await to('NAME', `http://${canary}.invalid/`)).error.message).toMatch(
      /^no answer from env:SECRETS_TEST_URL_NAME \(E\w+\)$/,
    )
    expect((await to('BAD', `mailto:${canary}`)).error.message).toContain('is neither http nor https')
    const url = secretUrl('SILENT', server.url + pathOf('silent'))
    const slow = await ended({ http: { ...everywhere, url } }, { timeoutSec: 0.2 })
    expect(slow).toMatchObject({ state: 'DEAD', error: { name: 'TimedOut' } })
  })

  it('are steps of graphs too', async () => {
    const http = { ...everywhere, url: secretUrl('STEP', server.url + pathOf('ok')) }
    const steps = [
      { name: 'first', target: { http }, payload: { control } },
      { name: 'second', target: { http: { url: `${server.url}/ok/second` } }, dependsOn: ['first'] },
    ]
    const { body } = await asked('POST /v1/dag-runs', { steps })
    const run = async () => (await asked(`GET /v1/dag-runs/${body.runId}`)).body.state
    await expect.poll(run, { timeout: 20_000 }).toBe('SUCCEEDED')
    expect(server.received.find(({ url }) => url === '/ok/second')!.body).toContain('[secret]')
  })

  it('leave a payload alone that only looks like a reference', async () => {
    const payload = { secretRef: 'env:SECRETS_TEST_KEY', list: [{ secretRef: 'env:PATH' }] }
    const url = `${server.url}/ok/alike`
    expect(await ended({ http: { url } }, { payload })).toMatchObject({ payload, state: 'SUCCEEDED' })
    expect(JSON.parse(server.received.find((one) => one.url === '/ok/alike')!.body)).toEqual(payload)
  })
})

describe('programs with a secret in their environment', () => {
  const env = { SECRET_KEY: ref('ENV'), SECRET_SPELT: ref('SPELT') }
  beforeAll(() => {
    process.env.SECRETS_TEST_SPELT = `${canary}-spelt-0123`
  })

  it('find it, and what they print of it is cleaned', async () => {
    const { result } = await ended({ shell: { command: 'print', env } })
    expect(result.value).toEqual({ key: '[secret]' })
    expect(result.stdout).toMatch(/^\[secret\]\n/)
  })

  it('and fail, are cleaned as well', async () => {
    expect((await ended({ shell: { command: 'fail', env } })).error.message).toContain('fail ended with exit code 3')
  })
})

describe('a tenant', () => {
  it('is refused the references of another one when a job is written, each with its place', async () => {
    const target = { http: { ...everywhere, url: ref('KEY') } }
    const { status, body } = await asked('POST /v1/jobs', { type: 'ONE_SHOT', target }, 'globex')
    expect([status, body.code]).toEqual([422, 'TARGET_NOT_ALLOWED'])
    expect(body.errors).toHaveLength(5)
    expect(body.errors[0]).toEqual({
      pointer: '/target/http/url',
      message: 'env:SECRETS_TEST_KEY is not allowed',
      hint: 'The operator allows this tenant none: ask for one',
    })
    const steps = [{ name: 'a', target: { shell: { command: 'print', env: { SECRET_A: ref('KEY') } } } }]
    const graph = await asked('POST /v1/dags', { name: 'g', steps }, 'globex')
    expect(graph.body.errors[0].pointer).toBe('/steps/0/target/shell/env/SECRET_A')
    const wide = { http: { url: { secretRef: `file:${home}/secrets/../print` } } }
    const { body: out } = await asked('POST /v1/jobs', { type: 'ONE_SHOT', target: wide })
    expect(out).toMatchObject({ status: 422, errors: [{ pointer: '/target/http/url' }] })
    expect(out.errors[0].hint).toContain('Allowed are env:SECRETS_TEST_*')
  })

  it('waits for a secret that is missing, which is named', async () => {
    const http = { url: `${server.url}/ok/late`, headers: { 'X-Key': ref('LATE') } }
    const retryPolicy = { maxAttempts: 100, initialDelayMs: 20, maxDelayMs: 20 }
    const { body } = await asked('POST /v1/jobs', { type: 'ONE_SHOT', target: { http }, retryPolicy })
    await expect
      .poll(async () => (await asked(`GET /v1/executions/${body.jobId}`)).body.attempts?.length ?? 0, {
        timeout: 20_000,
      })
      .toBeGreaterThan(1)
    process.env.SECRETS_TEST_LATE = `late-${canary}`
    const { state, attempts } = (await asked(`GET /v1/executions/${body.jobId}?waitSec=20`)).body
    expect(state).toBe('SUCCEEDED')
    expect(attempts[0].error).toMatchObject({
      name: 'SecretUnavailable',
      message: 'env:SECRETS_TEST_LATE is not set on this node',
    })
  })

  it('reads files of its folder, and no link out of it', async () => {
    const to = (name: string) => ({
      http: { url: `${server.url}/ok/${name}`, headers: { 'X-Key': { secretRef: `file:${home}/secrets/${name}` } } },
    })
    expect(await ended(to('key'))).toMatchObject({ state: 'SUCCEEDED' })
    expect(server.received.find(({ url }) => url === '/ok/key')!.headers['x-key']).toBe(`file-${canary}-0123`)
    expect(await ended(to('way-out'), { retryPolicy: { maxAttempts: 4 } })).toMatchObject({
      ...{ state: 'DEAD', reason: 'NOT_RETRYABLE', attempt: 1 },
      error: {
        name: 'TargetNotAllowed',
        message: `file:${home}/secrets/way-out leads out of what is allowed`,
      },
    })
  })

  it('that may not any more has a dead letter', async () => {
    const http = { url: `${server.url}/ok/never`, headers: { 'X-Key': ref('KEY') } }
    const job = { type: 'CRON', schedule: '0 3 1 1 *', target: { http } }
    const { jobId } = (await asked('POST /v1/jobs', job)).body
    const before = node
    const { tenantSecrets: _, ...targets } = settings().targets
    await events[Symbol.asyncDispose]()
    await before.stop()
    node = await serve({ ...settings(), targets }, logger)
    const { executionId } = (await asked(`POST /v1/jobs/${jobId}/trigger`)).body
    expect((await asked(`GET /v1/executions/${executionId}?waitSec=20`)).body).toMatchObject({
      ...{ state: 'DEAD', reason: 'NOT_RETRYABLE', attempt: 1 },
      error: { name: 'TargetNotAllowed', message: expect.stringContaining('env:SECRETS_TEST_KEY is not allowed') },
    })
    expect(server.received.filter(({ url }) => url === '/ok/never')).toEqual([])
  })
})

describe('afterwards a secret is', () => {
  const forms = (text: string) => [
    text,
    Buffer.from(text).toString('hex'),
    Buffer.from(text).toString('base64').slice(0, 7),
  ]

  it('in no table', async () => {
    const { rows: tables } = await sql.query<{ name: string }>(
      `select format('%I.%I', nspname, relname) as name from pg_class join pg_namespace n on n.oid = relnamespace
       where relkind in ('r', 'p', 'm') and not relispartition and nspname !~ '^(pg_|information_schema)'`,
    )
    expect(tables.length).toBeGreaterThan(30)
    const holding = async (text: string) => {
      const found: string[] = []
      for (const { name } of tables) {
        const { rowCount } = await sql.query(`select from ${name} t where t::text ilike any ($1)`, [
          forms(text).map((form) => `%${form}%`),
        ])
        if (rowCount! > 0) found.push(name)
      }
      return found
    }
    expect(await holding(control)).not.toEqual([])
    expect(await holding(canary)).toEqual([])
  })

  it('in no answer, event or line of a log', async () => {
    const { items } = (await asked('GET /v1/executions?limit=500')).body
    expect(items.length).toBeGreaterThan(15)
    for (const { executionId } of items) {
      for (const what of ['', '/logs', '/explain']) await asked(`GET /v1/executions/${executionId}${what}`)
    }
    for (const what of [
      'jobs',
      'dead-letters',
      'dead-letters/groups',
      'audit',
      'dags',
      'dag-runs',
      'stats',
      'workers',
    ]) {
      await asked(`GET /v1/${what}`)
    }
    await asked('GET /metrics')
    const lines = answers.filter((text) => text.includes('"lines":[{')).length
    expect(lines).toBeGreaterThan(10)
    const said = { answers, logged, events: events.events.map((event) => JSON.stringify(event)) }
    expect(said.events.length).toBeGreaterThan(30)
    expect(logged.length).toBeGreaterThan(10)
    for (const [what, texts] of Object.entries(said)) {
      const around = new RegExp(`.{0,80}(${forms(canary).join('|')}).{0,80}`, 'gi')
      const found = texts.flatMap((text) => text.match(around) ?? [])
      expect([what, found]).toEqual([what, []])
    }
  })
})
