/** What an operator or a newcomer would otherwise have to ask the ledger for is in the log of whoever saw it. */
import { createWorker, implementHandler, RetryLater } from '@carillon/sdk'
import { createCarillon, defineHandler, serve } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { quickTimes } from '../support/carillon.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

type Level = 'debug' | 'info' | 'warn' | 'error'
interface Line {
  level: Level
  message: string
  fields: Record<string, unknown>
}

class Log {
  readonly lines: Line[] = []
  debug = this.#at('debug')
  info = this.#at('info')
  warn = this.#at('warn')
  error = this.#at('error')

  find(message: string): Line | undefined {
    return this.lines.find((line) => line.message === message)
  }

  #at(level: Level) {
    return (fields: object, message: string) => void this.lines.push({ level, message, fields: { ...fields } })
  }
}

const breaking = defineHandler<{ how: 'throw' | 'later' | 'hang' }>({ name: 'breaking' })
const code = async ({ payload, signal }: { payload: { how: string }; signal: AbortSignal }) => {
  if (payload.how === 'throw') throw new TypeError('the invoice has no lines')
  if (payload.how === 'later') throw new RetryLater(60_000)
  await new Promise((_, stop) => signal.addEventListener('abort', () => stop(signal.reason)))
}
let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

describe('library mode', () => {
  test('says that it started and stopped, which attempts failed and why, and what became a dead letter', async () => {
    const logger = new Log()
    const carillon = await createCarillon({ databaseUrl: database.url, ...quickTimes, logger })
    carillon.handle(implementHandler(breaking, code))
    await carillon.start()
    const once = { retryPolicy: { maxAttempts: 1 } }
    const { executionId } = await carillon.enqueue(breaking, { how: 'throw' }, once)
    const slow = await carillon.enqueue(breaking, { how: 'hang' }, { ...once, timeoutSec: 0.1, cancelGraceSec: 0 })
    await carillon.enqueue(breaking, { how: 'later' })
    await until(() => logger.lines.filter(({ message }) => message === 'an execution is a dead letter').length === 2)
    await until(() => logger.find('a handler asked for a later retry') !== undefined)
    await carillon.stop()
    expect(logger.find('an attempt failed')).toMatchObject({
      level: 'warn',
      fields: {
        handler: 'breaking',
        executionId,
        attempt: 1,
        error: { name: 'TypeError', message: 'the invoice has no lines' },
      },
    })
    expect(logger.find('an attempt timed out')).toMatchObject({ fields: { executionId: slow.executionId } })
    const dead = logger.lines.filter(({ message }) => message === 'an execution is a dead letter')
    expect(dead.find(({ fields }) => fields.executionId === executionId)).toMatchObject({
      level: 'info',
      fields: { reason: 'ATTEMPTS_USED_UP', error: { name: 'TypeError' } },
    })
    expect(logger.lines.map(({ message }) => message)).toEqual(
      expect.arrayContaining(['the node has started', 'this node took over shards', 'the node has stopped']),
    )
  })

  test('by default shows on stdout what fails, and nothing else', async () => {
    const written: string[] = []
    const { write } = process.stdout
    const carillon = await createCarillon({ databaseUrl: database.url, ...quickTimes })
    // pino writes to the descriptor: what it is given is seen where the logger is asked.
    process.stdout.write = ((text: string) => written.push(text) > 0) as never
    try {
      carillon.handle(breaking, code as never)
      await carillon.start()
      await carillon.stop()
    } finally {
      process.stdout.write = write
    }
    expect(written).toEqual([])
  })
})

test('a node says where it listens, that it took over the shards of another, and which workers are lost', {
  timeout: 120_000,
}, async () => {
  const own = await createDatabase()
  const [first, second] = [new Log(), new Log()]
  const engine = { ...quickTimes, workerLostMs: 6_000, sweepEveryMs: 500 }
  const settings = { databaseUrl: own.url, port: 0, engine }
  const one = await serve(settings, first)
  expect(first.find('listening')).toMatchObject({ level: 'info', fields: { url: one.url } })
  const other = await serve(settings, second)
  const worker = createWorker({ urls: other.url, handlers: [implementHandler(breaking, code)], logger: new Log() })
  await worker.start()
  await one.stop()
  await until(() =>
    second.lines.some(({ message, fields }) => message === 'this node took over shards' && fields.leads === 64),
  )
  // Registered by hand, and never heard of again.
  const body = JSON.stringify({ name: 'silent', pools: [{ pool: 'default', handlers: ['x'], slots: 1 }] })
  await fetch(`${other.url}/v1/workers`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await until(() => second.find('a lost worker was removed') !== undefined, 60_000)
  expect(second.find('a lost worker was removed')).toMatchObject({ level: 'info', fields: { name: 'silent' } })
  await worker.stop()
  await other.stop()
  await own.drop()
})
