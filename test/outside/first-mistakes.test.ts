/** What a newcomer gets wrong on the command line is named, with what to do, and ends with the exit code of wrong usage. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { carillon } from '../integration/cli/cli.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { until } from '../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'carillon-first-'))
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
let node: HttpNode

beforeAll(async () => {
  node = await httpNode()
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

describe('carillon worker', () => {
  const commonjs = () => file('package.json', '{ "type": "commonjs" }')
  test.each([
    ['a file that is not there', () => './nope.js', /nope\.js does not exist/],
    ['a folder', () => folder, /is a directory/],
    ['a syntax error', () => file('broken.mjs', 'export const = 1'), /cannot be loaded: SyntaxError/],
    ['an import that is not there', () => file('lonely.mjs', "import 'no-such-package'"), /Install the package/],
    [
      'code that throws',
      () => file('throws.mjs', "throw new Error('no configuration')"),
      /Error: no configuration \(.*throws\.mjs:1\)/,
    ],
    ['an ES module in a CommonJS package', () => commonjs() && file('esm.js', "import 'node:fs'"), /"type": "module"/],
    ['a module without handlers', () => file('empty.mjs', 'export const a = 1'), /exports no handlers/],
  ])('%s', async (_, path, message) => {
    const { exitCode, stderr } = await carillon(['worker', path(), '--url', node.url])
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(message) })
    expect(stderr).not.toMatch(/^\s+at /m)
  })
})

test('apply and apply --dry-run refuse the same, all mistakes at once', async () => {
  const manifest = file(
    'jobs.yaml',
    `managedBy: x
jobs:
  - { key: a, type: CRON, schedule: "61 * * * *", timezone: Europe/Berlim, tz: UTC, target: { handler: h } }
  - { key: b, type: INTERVAL, interval: 15m, target: { handler: h, pool: no-such-pool } }
  - { key: c, type: CRON, schedule: "0 3 * * *", target: { http: { url: "http://127.0.0.1/" } } }
  - { key: d, type: CRON, schedule: "0 3 * * *", target: { shell: { command: rm } } }
  - { type: CRON, schedule: "0 3 * * *", target: {} }
pools: [carillon.mine]
`,
  )
  const env = { CARILLON_URL: node.url }
  const dry = await carillon(['apply', '-f', manifest, '--dry-run'], { env })
  const real = await carillon(['apply', '-f', manifest, '--yes'], { env })
  expect(dry).toMatchObject({ exitCode: 2, stdout: '' })
  expect(real.stderr).toBe(dry.stderr)
  const found = [
    ...['/jobs/0/schedule', '/jobs/0/timezone', '/jobs/0/tz', '/jobs/1/interval', '/jobs/1/target/pool'],
    ...['/jobs/2/target/http', '/jobs/3/target/shell', '/jobs/4/key', '/jobs/4/target', '/pools/0'],
  ]
  for (const pointer of found) expect(dry.stderr).toContain(pointer)
  expect((await node.ask('GET /v1/jobs')).body.items).toEqual([])
  // Without a node, what is wrong with the file itself is told all the same.
  const alone = await carillon(['apply', '-f', manifest, '--dry-run', '--url', 'http://127.0.0.1:9'])
  expect(alone).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('/jobs/0/schedule') })
})

test('of several nodes, each one’s own trouble is told', async () => {
  const { exitCode, stderr } = await carillon([
    'jobs',
    'list',
    '--url',
    'http://127.0.0.1:9,http://no-such-host.invalid:7171',
  ])
  expect(exitCode).toBe(3)
  expect(stderr).toMatch(/127\.0\.0\.1:9 gave no answer: .*ECONNREFUSED/)
  expect(stderr).toMatch(/no-such-host\.invalid:7171 gave no answer: .*(ENOTFOUND|EAI_AGAIN)/)
})

describe('TLS', () => {
  let secure: HttpNode
  let port: string
  beforeAll(async () => {
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const subject = ['-subj', '/CN=carillon.example', '-addext', 'subjectAltName=DNS:carillon.example']
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    execFileSync('openssl', [...made, '-keyout', keyFile, '-out', certFile, ...subject], { stdio: 'ignore' })
    secure = await httpNode({ tls: { certFile, keyFile } })
    port = new URL(secure.url).port
  })
  afterAll(() => secure[Symbol.asyncDispose]())

  test.each([
    ['a self-signed certificate', () => `https://127.0.0.1:${port}`, [], /self-signed.*--ca/],
    [
      'a certificate for another name',
      () => `https://127.0.0.1:${port}`,
      ['--ca', join(folder, 'cert.pem')],
      /certificate is for carillon\.example, not for 127\.0\.0\.1/,
    ],
    ['plain http to a TLS port', () => `http://127.0.0.1:${port}`, [], /write https:\/\//],
    ['https to a plain port', () => node.url.replace('http:', 'https:'), [], /does not speak TLS.*http:\/\//],
  ])('%s', async (_, url, args, message) => {
    const { exitCode, stderr } = await carillon(['jobs', 'list', '--url', url(), ...args])
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 3, stderr: expect.stringMatching(message) })
  })

  test('with its CA the SDK trusts it', async () => {
    const ca = readFileSync(join(folder, 'cert.pem'), 'utf8')
    const client = createClient({ urls: secure.url, tls: { ca }, patienceMs: 0 })
    await expect(client.jobs.list()).rejects.toThrow(/not for 127\.0\.0\.1/)
    await client.close()
  })
})

describe('the Python worker can be stopped', () => {
  const script = fileURLToPath(new URL('../../examples/python-worker/worker.py', import.meta.url))
  const start = (url: string, more: Record<string, string> = {}) =>
    spawn('python3', [script], { env: { ...process.env, CARILLON_URL: url, PYTHONDONTWRITEBYTECODE: '1', ...more } })
  const gone = async (child: ChildProcess) => (await once(child, 'exit'))[0] as number | null

  test.each(['SIGTERM', 'SIGINT'] as const)('while there is no node, by %s', async (signal) => {
    // It connects, is cut off, and comes again: then its handlers of signals are in place.
    let came = 0
    const nobody = createTcpServer((socket) => {
      came++
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(nobody, 'listening')
    const child = start(`http://127.0.0.1:${(nobody.address() as { port: number }).port}`)
    await until(() => came > 1)
    nobody.close()
    child.kill(signal)
    expect(await gone(child)).toBe(0)
  })

  test('while the node is silent', { timeout: 60_000 }, async () => {
    let came = 0
    const silent = createTcpServer(() => came++).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const child = start(`http://127.0.0.1:${(silent.address() as { port: number }).port}`)
    await until(() => came > 0)
    child.kill('SIGTERM')
    child.kill('SIGTERM')
    // Asked twice it goes at once, whatever it waits for.
    await until(() => child.exitCode !== null || (child.kill('SIGTERM') && false))
    silent.close()
  })

  test('while it waits for work', async () => {
    const child = start(node.url, { CARILLON_POOL: 'python' })
    const pool = async () =>
      (await node.ask('GET /v1/workers')).body.items.filter(({ pools }: { pools: unknown }) =>
        JSON.stringify(pools).includes('python'),
      )
    await until(async () => (await pool()).length === 1)
    child.kill('SIGINT')
    expect(await gone(child)).toBe(0)
    expect(await pool()).toEqual([])
  })
})
