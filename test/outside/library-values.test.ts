/**
 * Library mode and HTTP refuse the same values in the same words: both ask one checker. Every call of the library is tried with
 * values that do not fit; none may reach the database, whose errors say nothing to whoever made the mistake.
 */
import { CarillonError, enqueueOptionNames, jobInputFields, scheduleOptionNames } from '@carillon/contract'
import { JobInput } from '@carillon/contract/api'
import { Carillon, defineHandler } from '@carillon/server'
import type { TSchema } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checker } from '../../packages/server/src/http/validation.ts'
import { testCarillon } from '../support/carillon.ts'

const greet = defineHandler<{ name: string }>({ name: 'greet' })
const payload = { name: 'Ada' }
const id = '00000000-0000-7000-8000-000000000001'
const target = { handler: 'greet' }
let running: Awaited<ReturnType<typeof testCarillon>>
const carillon = () => running.carillon

beforeAll(async () => {
  running = await testCarillon((it) => it.handle(greet, async () => 'hello'))
})
afterAll(() => running[Symbol.asyncDispose]())

const samples = [
  ...[null, true, 5, -1, 1.5, 1e300, '', 'NONSENSE', 'a\u0000b', 'x'.repeat(2_000)],
  ...[[], [1], {}, { nonsense: 1 }, { key: '' }, { maxAttempts: 0 }, { a: 1 }],
]
const instants = ['runAt', 'anchor', 'startAt', 'endAt']

/** Of the samples, those that the schema of the field refuses; an instant in milliseconds is the library's own form. */
function misfits(name: string): unknown[] {
  const check = checker((JobInput.properties as Record<string, TSchema>)[name]!, 'body')
  return samples.filter((value) => {
    if (typeof value === 'number' && instants.includes(name)) return false
    try {
      check(value)
      return false
    } catch {
      return true
    }
  })
}

describe.each<[string, readonly string[], (wrong: object) => unknown, object]>([
  [
    'enqueue',
    enqueueOptionNames,
    (wrong) => carillon().enqueue(greet, payload, wrong),
    { type: 'ONE_SHOT', target, payload },
  ],
  [
    'enqueueMany',
    enqueueOptionNames.filter((name) => !['runAt', 'delayMs', 'dedupe'].includes(name)),
    (wrong) => carillon().enqueueMany(greet, [payload], wrong),
    { type: 'ONE_SHOT', target, payload },
  ],
  [
    'enqueueRun',
    ['name', 'runAt', 'labels', 'priority', 'traceparent'],
    (wrong) => carillon().enqueueRun('nightly', { tx: null as never, ...wrong }),
    { type: 'ONE_SHOT', target, payload },
  ],
  [
    'schedule',
    scheduleOptionNames.filter((name) => name !== 'cron' && name !== 'every'),
    (wrong) => carillon().schedule(greet, payload, { cron: '0 3 * * *', ...wrong }),
    { type: 'CRON', schedule: '0 3 * * *', target, payload },
  ],
  [
    'createJob',
    jobInputFields.filter((name) => name !== 'payload'),
    (wrong) => carillon().createJob({ type: 'CRON', schedule: '0 3 * * *', target, ...wrong }),
    { type: 'CRON', schedule: '0 3 * * *', target },
  ],
])('%s', (_, names, call, body) => {
  test.each(names)('refuses every %s that HTTP refuses, in the same words', async (name) => {
    expect(misfits(name).length).toBeGreaterThan(3)
    for (const value of misfits(name)) {
      const wrong = { [name]: value }
      const overHttp = await refusal(() => carillon().call('createJob', { body: { ...body, ...wrong } as never }))
      expect(overHttp.code).toBe('VALIDATION')
      expect((await refusal(() => call(wrong))).errors).toEqual(overHttp.errors)
    }
  })
})

type Calls = Record<string, (options: never) => unknown>

const withTenant: Calls = {
  enqueue: (o) => carillon().enqueue(greet, payload, o),
  enqueueMany: (o) => carillon().enqueueMany(greet, [payload], o),
  enqueueRun: (o: object) => carillon().enqueueRun('nightly', { tx: null as never, ...o }),
  schedule: (o: object) => carillon().schedule(greet, payload, { cron: '0 3 * * *', ...o }),
  createJob: (o: object) => carillon().createJob({ type: 'ONE_SHOT', target, ...o }),
  call: (o) => carillon().call('listJobs', {}, o),
  pause: (o) => carillon().pause(id, o),
  resume: (o) => carillon().resume(id, o),
  unschedule: (o) => carillon().unschedule(id, o),
  trigger: (o) => carillon().trigger(id, o),
  job: (o) => carillon().job(id, o),
  execution: (o) => carillon().execution(id, o),
  logs: (o) => carillon().logs(id, o),
  follow: (o) => carillon().follow(id, o).next(),
  executionsOf: (o) => carillon().executionsOf(id, o),
  deadLetters: (o) => carillon().deadLetters(o),
  cancel: (o) => carillon().cancel(id, o),
  replay: (o) => carillon().replay(id, o),
}

test.each(Object.keys(withTenant))('%s refuses what is no tenant', async (name) => {
  for (const tenant of [5, '', null, 'a\u0000b', 'x'.repeat(201)]) {
    const refused = await refusal(() => withTenant[name]!({ tenant } as never))
    expect(refused).toMatchObject({ code: 'VALIDATION', errors: [{ pointer: '/tenant' }] })
  }
})

const wrongArguments: [string, string, () => unknown][] = [
  ...['nonsense', '', `${id}x`].flatMap((wrong): [string, string, () => unknown][] => [
    [`execution ${wrong}`, '/executionId', () => carillon().execution(wrong)],
    [`logs ${wrong}`, '/executionId', () => carillon().logs(wrong)],
    [`cancel ${wrong}`, '/executionId', () => carillon().cancel(wrong)],
    [`replay ${wrong}`, '/executionId', () => carillon().replay(wrong)],
  ]),
  ...['', 'a\u0000b', 'x'.repeat(201)].flatMap((wrong): [string, string, () => unknown][] => [
    [`pause ${wrong}`, '/jobId', () => carillon().pause(wrong)],
    [`resume ${wrong}`, '/jobId', () => carillon().resume(wrong)],
    [`unschedule ${wrong}`, '/jobId', () => carillon().unschedule(wrong)],
    [`trigger ${wrong}`, '/jobId', () => carillon().trigger(wrong)],
    [`job ${wrong}`, '/jobId', () => carillon().job(wrong)],
    [`executionsOf ${wrong}`, '/jobId', () => carillon().executionsOf(wrong)],
    [`events of ${wrong}`, '/jobId', () => carillon().events({ jobId: wrong }).next()],
    [`cancel because of ${wrong}`, '/reason', () => carillon().cancel(id, { reason: wrong })],
  ]),
  ...[0, -1, 1.5, 1_001, '10'].flatMap((limit): [string, string, () => unknown][] => [
    [`executionsOf, limit ${limit}`, '/limit', () => carillon().executionsOf(id, { limit: limit as never })],
    [`deadLetters, limit ${limit}`, '/limit', () => carillon().deadLetters({ limit: limit as never })],
  ]),
  ['deadLetters before nonsense', '/before', () => carillon().deadLetters({ before: 'nonsense' })],
  ['unschedule', '/cancelRunning', () => carillon().unschedule(id, { cancelRunning: 'yes' as never })],
  [
    'events of no type',
    '/types/0',
    () =>
      carillon()
        .events({ types: ['nonsense' as never] })
        .next(),
  ],
  ['events after -1', '/lastEventId', () => carillon().events({ lastEventId: -1 }).next()],
  ['verify of no job', '/job', () => carillon().verify({ from: '2030-01-01T00:00:00Z', jobId: '' })],
  ['stop', '/drainSec', () => carillon().stop({ drainSec: -1 })],
]

test.each(wrongArguments)('%s is refused', async (_, pointer, call) => {
  expect(await refusal(call)).toMatchObject({ code: 'VALIDATION', errors: [{ pointer }] })
})

test('every call of the library is tried above', () => {
  const tried = new Set([...Object.keys(withTenant), ...wrongArguments.map(([name]) => name.split(' ')[0]!)])
  const bare = ['constructor', 'engine', 'handle', 'start', 'databaseUrl']
  const calls = [Carillon.prototype, Object.getPrototypeOf(Carillon.prototype)].flatMap(Object.getOwnPropertyNames)
  expect(calls.filter((name: string) => !tried.has(name) && !bare.includes(name))).toEqual([])
})

async function refusal(call: () => unknown): Promise<CarillonError> {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(CarillonError)
    return error as CarillonError
  }
  throw new Error('it was not refused')
}
