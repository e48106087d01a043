import { type Carillon, CarillonError, createCarillon, defineHandler } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes, type TestCarillon, testCarillon } from '../../support/carillon.ts'
import { until } from '../../support/until.ts'

const plain = defineHandler<unknown>({ name: 'plain' })
const nowhere = defineHandler<unknown>({ name: 'nowhere' })
const lost = defineHandler<unknown>({ name: 'lost', pool: 'batch-elt' })
const returning = defineHandler<{ what: 'bigint' | 'cycle' | 'function' | 'huge' }>({ name: 'returning' })
const never = defineHandler<unknown>({ name: 'never' })
const throwing = defineHandler<{ what: 'undefined' | 'nul' | 'huge' }>({ name: 'throwing' })

let test: TestCarillon
let carillon: Carillon
let sql: pg.Client

beforeAll(async () => {
  test = await testCarillon((node) => {
    node.handle(plain, async () => 'fine')
    node.handle(defineHandler({ name: 'other', pool: 'batch-etl' }), async () => 'fine')
    node.handle(returning, async (ctx) => {
      const cycle: { self?: unknown } = {}
      cycle.self = cycle
      return { bigint: 1n, cycle, function: () => 1, huge: 'x'.repeat(300_000) }[ctx.payload.what]
    })
    node.handle(never, () => new Promise(() => {}))
    node.handle(throwing, async (ctx) => {
      if (ctx.payload.what === 'undefined') throw undefined
      throw new Error(ctx.payload.what === 'nul' ? 'a\u0000b\ud800' : 'y'.repeat(1_000_000))
    })
  }, quickTimes)
  carillon = test.carillon
  sql = new pg.Client(test.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await test[Symbol.asyncDispose]()
})

describe('bad input is refused with a clear error, and nothing is stored', () => {
  const cases: [string, string, RegExp, () => Promise<unknown>][] = [
    ['an impossible cron', 'SCHEDULE_NEVER_FIRES', /31|February|never|no /i, () => cron('0 0 31 2 *')],
    ['a cron that is none', 'SCHEDULE_INVALID', /minute|field|61/i, () => cron('61 * * * *')],
    ['an unknown zone', 'TIMEZONE_UNKNOWN', /Europe\/Berlin/, () => cron('0 3 * * *', 'Europe/Berlim')],
    ['a payload over 256 KiB', 'PAYLOAD_TOO_LARGE', /reference/i, () => carillon.enqueue(plain, 'x'.repeat(300_000))],
    ['a payload that is not JSON', 'PAYLOAD_INVALID', /BigInt|bigint/i, () => carillon.enqueue(plain, { n: 1n })],
    ['a negative delay', 'VALIDATION', /delayMs|whole number/, () => carillon.enqueue(plain, {}, { delayMs: -1 })],
    [
      'a delay that is no number',
      'VALIDATION',
      /delayMs must be integer/,
      () => carillon.enqueue(plain, {}, { delayMs: Number.NaN }),
    ],
    ['runAt in year 10000', 'TIME_OUT_OF_RANGE', /9999/, () => at(new Date('+010000-01-01T00:00:00Z'))],
    ['runAt that is text of year 10000', 'VALIDATION', /runAt/, () => at('+010000-01-01T00:00:00Z')],
    ['runAt that is no time', 'VALIDATION', /ISO 8601/, () => at('tomorrow')],
    ['runAt without an offset', 'VALIDATION', /timezone/, () => at('2030-01-01T00:00:00')],
    ['a pool that does not exist', 'POOL_UNKNOWN', /batch-etl/, () => carillon.enqueue(lost, {})],
    [
      'a priority that is none',
      'VALIDATION',
      /CRITICAL/,
      () => carillon.enqueue(plain, {}, { priority: 'URGENT' as never }),
    ],
    [
      'no attempts',
      'VALIDATION',
      /maxAttempts|10000/,
      () => carillon.enqueue(plain, {}, { retryPolicy: { maxAttempts: 0 } }),
    ],
    [
      'NUL in a label',
      'VALIDATION',
      /control character/,
      () => carillon.enqueue(plain, {}, { labels: { a: 'b\u0000' } }),
    ],
    [
      'a lone surrogate in a key',
      'VALIDATION',
      /surrogate/,
      () => carillon.schedule(plain, {}, { key: '\ud800', cron: '* * * * *' }),
    ],
    ['17 labels', 'VALIDATION', /16/, () => carillon.enqueue(plain, {}, { labels: labels(17) })],
    [
      'an interval below a second',
      'SCHEDULE_INVALID',
      /PT1S|second/i,
      () => carillon.schedule(plain, {}, { every: 'PT0.5S' }),
    ],
    [
      'jitter as long as the period',
      'VALIDATION',
      /jitter/,
      () => carillon.schedule(plain, {}, { cron: '* * * * *', jitterSec: 60 }),
    ],
    ['a transaction that is none', 'VALIDATION', /transaction/, () => carillon.enqueue(plain, {}, { tx: {} as never })],
  ]

  it.each(cases)('%s: %s', async (_, code, words, attempt) => {
    const before = await rowCount()
    const error = await attempt().then(
      () => null,
      (e: unknown) => e,
    )
    expect(error).toBeInstanceOf(CarillonError)
    expect((error as CarillonError).code).toBe(code)
    expect(`${(error as Error).message} ${JSON.stringify((error as CarillonError).errors)}`).toMatch(words)
    expect(await rowCount()).toBe(before)
  })

  it('runAt in 2019 is before the history that is kept', async () => {
    // An enqueue for a past time runs now; a job that stands at a time long gone is refused.
    const handle = await carillon.enqueue(plain, {}, { runAt: '2019-01-01T00:00:00Z' }).catch((e: unknown) => e)
    expect(handle).toBeInstanceOf(CarillonError)
    expect((handle as CarillonError).code).toBe('TIME_OUT_OF_RANGE')
    expect((handle as CarillonError).message).toMatch(/Leave runAt out/)
  })

  it('no database named is an error, never a silent empty database', async () => {
    await expect(createCarillon({})).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(createCarillon({ databaseUrl: 'x' })).rejects.toThrow(/postgres:\/\//)
    await expect(createCarillon({ databaseUrl: test.databaseUrl, leaseMs: 1 })).rejects.toThrow(/leaseMs/)
    await expect(createCarillon({ databaseUrl: test.databaseUrl, ...({ leasems: 1 } as object) })).rejects.toThrow(
      /leasems/,
    )
  })
})

it('a wrong payload does not compile', () => {
  const typed = defineHandler<{ to: string }>({ name: 'typed' })
  const wrong = [
    // @ts-expect-error `to` is a text
    () => carillon.enqueue(typed, { to: 1 }),
    // @ts-expect-error `to` is missing
    () => carillon.schedule(typed, {}, { cron: '* * * * *' }),
  ]
  expect(wrong).toHaveLength(2)
})

describe('bad outcomes end clearly, and poison nothing', () => {
  it.each(['bigint', 'cycle', 'function'] as const)('a result that is not JSON: %s', async (what) => {
    const handle = await carillon.enqueue(returning, { what })
    const execution = await handle.ended({ waitMs: 10_000 })
    expect(execution).toMatchObject({ state: 'DEAD', reason: 'NOT_RETRYABLE', error: { name: 'RESULT_INVALID' } })
  })

  it('a result over 256 KiB', async () => {
    const handle = await carillon.enqueue(returning, { what: 'huge' })
    expect(await handle.ended({ waitMs: 10_000 })).toMatchObject({ state: 'DEAD', error: { name: 'RESULT_TOO_LARGE' } })
  })

  it.each(['undefined', 'nul', 'huge'] as const)('a handler that throws something odd: %s', async (what) => {
    const handle = await carillon.enqueue(throwing, { what }, { retryPolicy: { maxAttempts: 1 } })
    const execution = await handle.ended({ waitMs: 10_000 })
    expect(execution).toMatchObject({ state: 'DEAD', reason: 'ATTEMPTS_USED_UP' })
    expect(JSON.stringify(execution.error).length).toBeLessThan(20_000)
  })

  it('an unknown handler waits for a worker that has it, and is dead in the end', async () => {
    const waiting = await carillon.enqueue(nowhere, {}, { unknownHandlerSec: 600 })
    await until(async () => (await waiting.execution())?.timeline.some((t) => t.reason === 'UNKNOWN_HANDLER') ?? false)
    expect(await waiting.execution()).toMatchObject({ state: 'PENDING', attempt: 0 })
    const dying = await carillon.enqueue(nowhere, {}, { unknownHandlerSec: 0 })
    expect(await dying.ended({ waitMs: 10_000 })).toMatchObject({
      state: 'DEAD',
      reason: 'UNKNOWN_HANDLER',
      attempt: 0,
    })
    // A worker with the handler comes: what waited is run.
    const late = await test.another()
    late.handle(nowhere, async () => 'found')
    await late.start()
    expect(await waiting.result({ waitMs: 20_000 })).toBe('found')
    await late.stop()
  })

  it('a handler that never returns is timed out and its slot is free again', async () => {
    const options = { timeoutSec: 0.05, cancelGraceSec: 0, retryPolicy: { maxAttempts: 1 } }
    const handles = await Promise.all(Array.from({ length: 25 }, () => carillon.enqueue(never, {}, options)))
    for (const handle of handles) expect(await handle.ended({ waitMs: 15_000 })).toMatchObject({ state: 'DEAD' })
  })

  it('and the node goes on as before', async () => {
    const handle = await carillon.enqueue(plain, {})
    expect(await handle.result({ waitMs: 10_000 })).toBe('fine')
  })
})

function cron(expression: string, timezone?: string): Promise<unknown> {
  return carillon.schedule(plain, {}, { cron: expression, timezone })
}

function at(runAt: string | Date): Promise<unknown> {
  return carillon.enqueue(plain, {}, { runAt })
}

function labels(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, 'x']))
}

async function rowCount(): Promise<number> {
  const { rows } = await sql.query(
    `select (select count(*) from carillon.jobs)::int + (select count(*) from carillon.submissions)::int
       + (select count(*) from carillon.executions)::int n`,
  )
  return rows[0].n
}
