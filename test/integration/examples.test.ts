/** The examples, run as a reader would run them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

const root = join(import.meta.dirname, '../..')
const children: ChildProcess[] = []
let database: TestDatabase
let node: HttpNode

beforeAll(async () => {
  database = await createDatabase()
  node = await httpNode()
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await node[Symbol.asyncDispose]()
  await database.drop()
})

function start(example: string, env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [join(root, 'examples', example)], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  return child
}

async function run(example: string, env: Record<string, string>): Promise<string> {
  const child = start(example, env)
  const [out, errors, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'exit')])
  expect(code, `${example}: ${out}${errors}`).toBe(0)
  return out
}

describe('the examples', () => {
  it('library mode: an invoice and a schedule', async () => {
    const out = await run('library-mode/main.ts', { DATABASE_URL: database.url })
    expect(out).toMatch(/invoice \{ receipt: '\w{6}', cents: 4200 \}/)
    expect(out.match(/tick of/g)!.length).toBeGreaterThanOrEqual(2)
  })

  it('transactional enqueue: with the order or not at all', async () => {
    const out = await run('transactional-enqueue/main.ts', { DATABASE_URL: database.url })
    expect(out).toContain('committed: { shipped: 1 }')
    expect(out).toContain('rolled back: the card was declined')
    expect(out).toContain('orders: [ { id: 1, shipped: true } ]')
  })

  it('a graph of five steps, one of which fails twice', async () => {
    const out = await run('dag/main.ts', { DATABASE_URL: database.url })
    expect(out).toContain('SUCCEEDED: extract 1, transform 1, warehouse 1, lake 3, notify 1')
    expect(out).toContain('loaded: {"warehouse":{"loaded":3},"lake":{"loaded":3}}')
  })

  it('a step for each of 500 files, five of which are broken', async () => {
    const out = await run('fan-out/main.ts', { DATABASE_URL: database.url })
    expect(out).toContain('SUCCEEDED: 500 files, 5 broken')
    expect(out).toContain('495 files, 6930 bytes')
  })

  it('an approval: one is given, the other times out', async () => {
    const out = await run('approval/main.ts', { DATABASE_URL: database.url })
    expect(out).toContain('SUCCEEDED: check SUCCEEDED, approve SUCCEEDED, pay SUCCEEDED, apologize SKIPPED')
    expect(out).toContain('paid 4200 cents, approved by ada')
    expect(out).toContain('FAILED: check SUCCEEDED, approve DEAD, pay SKIPPED, apologize SUCCEEDED')
    expect(out).toContain('told the customer that it takes longer')
  })

  it('HTTP target: called, signed, answered', async () => {
    const out = await run('http-target/main.ts', { DATABASE_URL: database.url })
    expect(out).toMatch(/called for [0-9a-f-]{36}, fence \d+/)
    expect(out).toMatch(/result .*hello: 'world'/s)
  })

  it('remote worker: a producer, a node and a worker that know each other by HTTP only', async () => {
    const env = { CARILLON_URL: node.url }
    const worker = start('remote-worker/worker.ts', env)
    await once(worker.stdout!, 'data')
    expect(await run('remote-worker/enqueue.ts', env)).toContain("made: [ 'cat.png@100', 'cat.png@400' ]")
    worker.kill('SIGTERM')
    expect(await once(worker, 'exit')).toEqual([0, null])
  })
})
