/**
 * A library call that swallows an option does something else than it was asked for: every call that takes options refuses
 * those it does not know, before anything happens. New methods have to say here what they take.
 */
import { apiPaths, CarillonError, jobInputFields, retryPolicyFields } from '@carillon/contract'
import { Dedupe, DstPolicy, JobInput, RetryPolicy, Target } from '@carillon/contract/api'
import {
  Client,
  createClient,
  createWorker,
  DagCalls,
  DagRunCalls,
  ExecutionCalls,
  InstallationCalls,
  implementHandler,
  JobCalls,
  PoolCalls,
} from '@carillon/sdk'
import { Carillon, createCarillon, defineHandler, serve } from '@carillon/server'
import { createTestCarillon } from '@carillon/server/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dedupeFields, dstFields, targetFields } from '../../packages/contract/src/job.ts'
import { peerWords } from '../../packages/contract/src/peer-words.ts'
import { TestCarillon } from '../../packages/server/src/testing/test-carillon.ts'
import { testCarillon } from '../support/carillon.ts'

const greet = defineHandler<{ name: string }>({ name: 'greet' })
const payload = { name: 'Ada' }
const cron = '0 3 * * *'
const steps = [{ name: 's', target: { handler: 'greet' } }]
const id = '00000000-0000-7000-8000-000000000001'
const nowhere = createClient({ urls: 'http://127.0.0.1:9', patienceMs: 0 })
let running: Awaited<ReturnType<typeof testCarillon>>
let tested: TestCarillon

beforeAll(async () => {
  running = await testCarillon((carillon) => carillon.handle(greet, async () => 'hello'))
  tested = await createTestCarillon({ now: '2030-01-01T00:00:00Z', handlers: [implementHandler(greet, () => 'hello')] })
})
afterAll(async () => {
  await running[Symbol.asyncDispose]()
  await tested.close()
  await nowhere.close()
})

type Options = never
type Calls = Record<string, (options: Options) => unknown>

/** What library mode and the test Carillon share. */
const library = (of: () => Carillon | TestCarillon): Calls => ({
  enqueue: (o) => of().enqueue(greet, payload, o),
  enqueueMany: (o) => of().enqueueMany(greet, [payload], o),
  enqueueRun: (o: object) => of().enqueueRun('nightly', { tx: null as never, ...o }),
  schedule: (o: object) => of().schedule(greet, payload, { cron, ...o }),
  createJob: (o: object) => of().createJob({ type: 'CRON', schedule: cron, target: { handler: 'greet' }, ...o }),
  call: (o) => of().call('listJobs', {}, o),
  pause: (o) => of().pause(id, o),
  resume: (o) => of().resume(id, o),
  unschedule: (o) => of().unschedule(id, o),
  trigger: (o) => of().trigger(id, o),
  job: (o) => of().job(id, o),
  execution: (o) => of().execution(id, o),
  logs: (o) => of().logs(id, o),
  follow: (o) => of().follow(id, o).next(),
  executionsOf: (o) => of().executionsOf(id, o),
  deadLetters: (o) => of().deadLetters(o),
  cancel: (o) => of().cancel(id, o),
  replay: (o) => of().replay(id, o),
  verify: (o: object) => of().verify({ from: '2020-01-01T00:00:00Z', ...o }),
  events: (o) => of().events(o).next(),
})

const client: Calls = {
  enqueue: (o) => nowhere.enqueue(greet, payload, o),
  enqueueMany: (o) => nowhere.enqueueMany(greet, [payload], o),
  schedule: (o: object) => nowhere.schedule(greet, payload, { cron, ...o }),
  call: (o) => nowhere.call('listJobs', {}, o),
  trigger: (o) => nowhere.trigger(id, o),
  unschedule: (o) => nowhere.unschedule(id, o),
  verify: (o: object) => nowhere.verify({ from: '2020-01-01T00:00:00Z', ...o }),
  events: (o) => nowhere.events(o).next(),
  follow: (o) => nowhere.follow(id, o).next(),
}

const others: Calls = {
  createCarillon: (o: object) => createCarillon({ databaseUrl: 'postgres://127.0.0.1:9/x', ...o }),
  'createCarillon embedded': (o: object) => createCarillon({ embedded: { dataDir: '/nonexistent', ...o } }),
  'createCarillon targets': (o) => createCarillon({ databaseUrl: 'postgres://127.0.0.1:9/x', targets: o }),
  serve: (o: object) => serve({ databaseUrl: 'postgres://127.0.0.1:9/x', ...o }),
  'serve engine': (o) => serve({ databaseUrl: 'postgres://127.0.0.1:9/x', engine: o }),
  'serve auth': (o) => serve({ databaseUrl: 'postgres://127.0.0.1:9/x', auth: o }),
  'serve tls': (o) => serve({ databaseUrl: 'postgres://127.0.0.1:9/x', tls: o }),
  createTestCarillon: (o: object) => createTestCarillon({ now: 0, ...o }),
  createClient: (o: object) => createClient({ urls: 'http://127.0.0.1:9', ...o }),
  'createClient tls': (o) => createClient({ urls: 'http://127.0.0.1:9', tls: o }),
  createWorker: (o: object) => createWorker({ urls: 'http://127.0.0.1:9', handlers: [], ...o }),
  defineHandler: (o: object) => defineHandler({ name: 'x', ...o }),
  implementHandler: (o) => implementHandler(greet, () => 'hello', o),
  handle: (o) => new Carillon(null as never, { tenant: undefined } as never).handle(greet, o, () => 'hello'),
  'Carillon.stop': (o) => running.carillon.stop(o),
  'test carillon.runs': (o) => tested.runs(o),
  'test carillon.crash': (o) => tested.crash('AT_COMMIT', o),
  'test carillon.deliverTwice': (o) => tested.deliverTwice(o),
  'handle.ended': (o) => nowhere.handle(id).ended(o),
  'handle.follow': (o) => nowhere.handle(id).follow(o).next(),
  'handle.result': (o) => nowhere.handle(id).result(o),
  'retryPolicy of enqueue': (o) => running.carillon.enqueue(greet, payload, { retryPolicy: o }),
  'dedupe of enqueue': (o: object) => running.carillon.enqueue(greet, payload, { dedupe: { key: 'x', ...o } }),
  'dst of schedule': (o) => running.carillon.schedule(greet, payload, { cron, dst: o }),
  'target of createJob': (o: object) =>
    running.carillon.createJob({ type: 'ONE_SHOT', target: { handler: 'greet', ...o } }),
  'jobs.list': (o) => running.carillon.jobs.list(o),
  'jobs.patch': (o) => running.carillon.jobs.patch(id, {}, o),
  'jobs.replace': (o) => running.carillon.jobs.replace(id, { type: 'ONE_SHOT', target: { handler: 'x' } }, o),
  'jobs.next': (o) => running.carillon.jobs.next(id, o),
  'jobs.forecast': (o) => running.carillon.jobs.forecast(o),
  'jobs.preview': (o: object) => running.carillon.jobs.preview({ type: 'CRON', schedule: cron, ...o }),
  'jobs.backfill': (o: object) => running.carillon.jobs.backfill(id, { from: '', to: '', ...o }),
  'jobs.executions': (o) => running.carillon.jobs.executions(id, o),
  'jobs.versions': (o) => running.carillon.jobs.versions(id, o),
  'executions.list': (o) => running.carillon.executions.list(o),
  'executions.cancelAll': (o: object) => running.carillon.executions.cancelAll({ filter: {}, ...o }),
  'executions.retryAll': (o) => running.carillon.executions.retryAll({ filter: o }),
  'executions.copyAll': (o: object) => running.carillon.executions.copyAll({ filter: {}, pool: 'default', ...o }),
  'executions.listDead': (o) => running.carillon.executions.listDead(o),
  'executions.groupDead': (o) => running.carillon.executions.groupDead(o),
  'executions.failures': (o) => running.carillon.executions.failures(o),
  'executions.replayDead': (o: object) => running.carillon.executions.replayDead({ filter: {}, ...o }),
  'executions.purgeDead': (o: object) => running.carillon.executions.purgeDead({ filter: {}, ...o }),
  'dags.create': (o: object) => running.carillon.dags.create({ steps, ...o }),
  'dags.list': (o) => running.carillon.dags.list(o),
  'dags.replace': (o) => running.carillon.dags.replace(id, { steps }, o),
  'dags.delete': (o) => running.carillon.dags.delete(id, o),
  'dags.schedule': (o: object) => running.carillon.dags.schedule(id, { cron, ...o }),
  'dags.run': (o) => running.carillon.dags.run(id, o),
  'dagRuns.start': (o: object) => running.carillon.dagRuns.start({ steps, ...o }),
  'dagRuns.list': (o) => running.carillon.dagRuns.list(o),
  'dagRuns.wait': (o) => running.carillon.dagRuns.wait(id, o),
  'pools.list': (o) => running.carillon.pools.list(o),
  'installation.workers': (o) => running.carillon.installation.workers(o),
  'installation.tokens': (o) => running.carillon.installation.tokens(o),
  'installation.createToken': (o: object) =>
    running.carillon.installation.createToken({ name: 'x', scopes: ['admin'], ...o }),
  'installation.stats': (o) => running.carillon.installation.stats(o),
  'installation.usage': (o) => running.carillon.installation.usage(o),
  'tenants.usage': (o) => running.carillon.tenants.usage('acme', o),
  'tenants.usageOfAll': (o) => running.carillon.tenants.usageOfAll(o),
  'installation.audit': (o) => running.carillon.installation.audit(o),
}

const everyCall: Record<string, (options: Options) => unknown> = {
  ...prefixed(
    'carillon.',
    library(() => running.carillon),
  ),
  ...prefixed(
    'test carillon.',
    library(() => tested),
  ),
  ...prefixed('client.', client),
  ...others,
}

describe.each(Object.keys(everyCall))('%s', (name) => {
  test.each(['tz', 'delay', 'nonsense'])('refuses %s', async (word) => {
    const refused = await caught(() => everyCall[name]!({ [word]: 1 } as never))
    expect(refused).toBeInstanceOf(CarillonError)
    expect((refused as CarillonError).errors).toContainEqual(
      expect.objectContaining({
        pointer: expect.stringMatching(new RegExp(`/${word}$`)),
        message: `${word} is not known`,
      }),
    )
  })
})

test('every method that takes options is tried above', () => {
  const bare = {
    carillon: ['constructor', 'handle', 'start', 'stop', 'databaseUrl', 'engine'],
    'test carillon': ['now', 'advance', 'advanceTo', 'drain', 'outage', 'close'],
    client: ['constructor', 'handle', 'execution', 'job', 'pause', 'resume', 'cancel', 'replay', 'close'],
    groups: [
      'constructor',
      'get',
      'explain',
      'logs',
      'create',
      'cancel',
      'retry',
      'pause',
      'resume',
      'scaling',
      'health',
      'metrics',
      'me',
      'nodes',
      'verified',
    ],
  }
  const of = (type: { prototype: object }) => Object.getOwnPropertyNames(type.prototype)
  const shared = Object.keys(library(() => tested))
  const named = Object.keys(others).map((name) => name.split('.').at(-1)!)
  expect(of(Carillon).filter((name) => !bare.carillon.includes(name))).toEqual([])
  expect(of(Object.getPrototypeOf(Carillon)).filter((name) => ![...shared, ...bare.carillon].includes(name))).toEqual(
    [],
  )
  const testing = [...shared, ...named, ...bare.carillon, ...bare['test carillon']]
  expect(of(TestCarillon).filter((name) => !testing.includes(name))).toEqual([])
  expect(of(Client).filter((name) => ![...Object.keys(client), ...bare.client].includes(name))).toEqual([])
  const groups = [JobCalls, ExecutionCalls, DagCalls, DagRunCalls, PoolCalls, InstallationCalls].flatMap(of)
  const plain = [
    ...bare.groups,
    'operation',
    'cancelOperation',
    'revokeToken',
    'load',
    'worker',
    'purgeOneDead',
    'signal',
  ]
  expect(groups.filter((name) => !named.includes(name) && !plain.includes(name))).toEqual([])
})

describe('the hint says what was meant', () => {
  const hintOf = async (call: () => unknown) => ((await caught(call)) as CarillonError).errors[0]?.hint
  const { schedule, enqueue } = library(() => running.carillon) as Record<string, (options: object) => unknown>
  test.each([
    ['tz', schedule, /timezone/],
    ['timeZone', schedule, /Did you mean timezone\?/],
    ['timezon', schedule, /Did you mean timezone\?/],
    ['attempts', schedule, /retryPolicy\.maxAttempts/],
    ['timeout', schedule, /Did you mean timeoutSec\?/],
    ['repeat', enqueue, /schedule\(/],
    ['delay', enqueue, /delayMs/],
    ['startAfter', enqueue, /delayMs.*runAt/],
    ['run_at', enqueue, /Did you mean runAt\?/],
    ['singletonKey', enqueue, /dedupe/],
    ['removeOnComplete', enqueue, /retentionDays/],
    ['lifo', enqueue, /order/],
    ['concurrency', enqueue, /handle\(/],
  ] as const)('%s', async (word, call, hint) => {
    expect(await hintOf(() => call!({ [word]: 1 }))).toMatch(hint)
  })

  test('over HTTP the same', async () => {
    const body = { type: 'CRON', schedule: cron, target: { handler: 'greet' }, tz: 'Europe/Berlin' } as never
    const refused = (await caught(() => running.carillon.call('createJob', { body }))) as CarillonError
    expect(refused.errors).toEqual([
      { pointer: '/tz', message: 'tz is not known', hint: expect.stringContaining('timezone') },
    ])
  })

  test('no word of a peer leads to an option that nobody has', () => {
    const known = new Set([
      ...jobInputFields,
      ...retryPolicyFields,
      ...dedupeFields,
      ...['cron', 'every', 'urls', 'token', 'databaseUrl', 'concurrency', 'maxConnections', 'pollMs', 'retentionDays'],
      ...['logger', 'logLevel', 'pool'],
    ] as string[])
    const named = Object.values(peerWords).flatMap(({ use = [] }) => use.map((path) => path.split('.')[0]!))
    expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([])
  })
})

test('the names that library calls know are those of the schemas', () => {
  const of = (schema: object) => Object.keys((schema as { properties: object }).properties).sort()
  expect([...jobInputFields].sort()).toEqual(of(JobInput))
  expect([...retryPolicyFields].sort()).toEqual(of(RetryPolicy))
  expect([...dedupeFields].sort()).toEqual(of(Dedupe))
  expect([...dstFields].sort()).toEqual(of(DstPolicy))
  expect([...targetFields].sort()).toEqual(of(Target))
})

describe('what a newcomer does first is answered with what to do', () => {
  test.each([
    ['createCarillon()', () => createCarillon(undefined as never), /createCarillon\(\{ databaseUrl: /],
    ['createCarillon({})', () => createCarillon({}), /embedded: \{ dataDir/],
    ["createCarillon('postgres://…')", () => createCarillon('postgres://x' as never), /takes an object/],
    [
      'createCarillon({ embedded: true })',
      () => createCarillon({ embedded: true as never }),
      /embedded must be an object/,
    ],
    ['createClient()', () => createClient(undefined as never), /urls: 'http/],
    ["createClient('http://…')", () => createClient('http://x' as never), /urls: 'http:\/\/x'/],
    ['createWorker()', () => createWorker(undefined as never), /createWorker needs the URL/],
    ["every: '15m'", () => running.carillon.schedule(greet, payload, { every: '15m' }), /"15m".*Write PT15M/],
    ["every: '1 hour'", () => nowhere.schedule(greet, payload, { every: '1 hour' }), /Write PT1H/],
    ['every: 900000', () => running.carillon.schedule(greet, payload, { every: 900_000 as never }), /PT900S/],
    [
      'neither cron nor every nor after',
      () => running.carillon.schedule(greet, payload, {} as never),
      /cron, every or after is required/,
    ],
    [
      'a name instead of a handler',
      () => running.carillon.enqueue('greet' as never, {}),
      /defineHandler\(\{ name: 'greet'/,
    ],
    [
      'priority: 5',
      () => running.carillon.enqueue(greet, payload, { priority: 5 as never }),
      /priority 5.*CRITICAL, HIGH/,
    ],
    [
      'a call that is not there',
      () => running.carillon.call('listJob' as never, {} as never),
      /Did you mean listJobs\?/,
    ],
  ] as const)('%s', async (_, call, message) => {
    const refused = await caught(call as () => unknown)
    expect(refused).toBeInstanceOf(CarillonError)
    expect((refused as CarillonError).message).toMatch(message)
  })

  test('POST {}', async () => {
    const refused = (await caught(() => running.carillon.call('createJob', { body: {} as never }))) as CarillonError
    expect(refused.message).toContain('type is required (Use one of ONE_SHOT, DELAYED, CRON, INTERVAL')
    expect(refused.message).toContain('target is required')
    expect(refused.message).not.toMatch(/(^|; )is required/)
  })

  test('calls after stop()', async () => {
    const carillon = await running.another()
    await carillon.stop()
    // What this one writes goes through the caller's own client.
    const { enqueueRun: _, ...asked } = library(() => carillon)
    const calls = [...Object.values(asked), () => carillon.start(), () => carillon.jobs.list()]
    for (const call of calls) {
      const refused = (await caught(() => call({} as never))) as CarillonError
      expect(refused).toMatchObject({ code: 'STATE_CONFLICT', message: expect.stringContaining('stopped') })
    }
    await carillon.stop()
  })
})

test('there is nothing over HTTP that cannot be called in process', async () => {
  const missing = []
  for (const operation of Object.keys(apiPaths)) {
    const refused = await caught(() => running.carillon.call(operation as never, {} as never))
    if (refused instanceof CarillonError && /there is no operation/.test(refused.message)) missing.push(operation)
  }
  expect(missing).toEqual([])
})

async function caught(call: () => unknown): Promise<unknown> {
  try {
    await call()
  } catch (error) {
    return error
  }
  return null
}

function prefixed(prefix: string, calls: Calls): Calls {
  return Object.fromEntries(Object.entries(calls).map(([name, call]) => [prefix + name, call]))
}
