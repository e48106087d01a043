import { CarillonError, type DagStep, JsonText } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { defineSteps, type StepsContext } from './define-steps.ts'

const target = { handler: 'h' }
const asked: string[] = []
const jobs: StepsContext['jobs'] = {
  async require(_, { target }) {
    const pool = target.handler === undefined ? 'carillon.http' : (target.pool ?? 'default')
    asked.push(pool)
    if (pool === 'nowhere') throw new CarillonError('POOL_UNKNOWN', { pointer: '/target/pool', message: 'no pool' })
    return `key-of-${pool}`
  },
}
const context: StepsContext = { tenant: 'acme', labels: null, now: 0, jobs }
const define = (steps: DagStep[], more: Partial<StepsContext> = {}) => defineSteps(steps, { ...context, ...more })

async function refused(steps: unknown[], more: Partial<StepsContext> = {}) {
  const error: unknown = await define(steps as DagStep[], more).then(
    () => null,
    (error) => error,
  )
  if (!(error instanceof CarillonError)) throw error
  return { code: error.code, pointers: error.errors.map(({ pointer }) => pointer) }
}

describe('steps', () => {
  it('get the defaults for what they do not say', async () => {
    expect(await define([{ name: 'a', target }])).toEqual([
      {
        ...{ name: 'a', dependsOn: [], children: [], runIf: 'ALL_SUCCEEDED', allowFailure: false },
        ...{ pool: 'key-of-default', lane: 2, handler: 'h', payload: null, policy: null, labels: null },
      },
    ])
  })

  it('keep what they say, and stand after those they depend on', async () => {
    const load: DagStep = {
      ...{ name: 'load', dependsOn: ['extract'], runIf: 'ANY_FAILED', allowFailure: true, priority: 'CRITICAL' },
      ...{
        target: { pool: 'etl', handler: 'l' },
        payload: new JsonText('{"id": 12345678901234567890}'),
        timeoutSec: 5,
      },
      ...{ retryPolicy: { maxAttempts: 1 }, startWithinSec: 60, deadlineSec: 600, labels: { a: 'b' } },
    }
    const defined = await define([load, { name: 'extract', target, payload: null }])
    expect(defined).toMatchObject([
      { name: 'extract', dependsOn: [], children: [1], payload: 'null' },
      {
        ...{ name: 'load', dependsOn: [0], children: [], runIf: 'ANY_FAILED', allowFailure: true, lane: 0 },
        ...{ pool: 'key-of-etl', handler: 'l', payload: '{"id":12345678901234567890}', labels: { a: 'b' } },
        policy: { retryPolicy: { maxAttempts: 1 }, timeoutSec: 5, startWithinSec: 60, deadlineSec: 600 },
      },
    ])
  })

  it('may be built-in targets, which are checked one by one', async () => {
    const http = { url: 'https://example.com' }
    const [step] = await define([{ name: 'a', target: { http } }])
    expect(step).toMatchObject({ pool: 'key-of-carillon.http', handler: 'carillon.http', policy: { target: { http } } })
  })

  it('inherit labels, and their own win', async () => {
    const steps = [
      { name: 'a', target, labels: { team: 'x' } },
      { name: 'b', target },
    ]
    const [a, b] = await define(steps, { labels: { team: 'y', env: 'prod' } })
    expect([a!.labels, b!.labels]).toEqual([
      { team: 'x', env: 'prod' },
      { team: 'y', env: 'prod' },
    ])
  })

  it('ask for each pool once', async () => {
    asked.length = 0
    const pools = ['etl', 'etl', undefined, 'mail', undefined]
    await define(pools.map((pool, i) => ({ name: `s${i}`, target: { handler: 'h', ...(pool && { pool }) } })))
    expect(asked).toEqual(['etl', 'default', 'mail'])
  })
})

describe('what is wrong', () => {
  it('is told at once, each in its place', async () => {
    const steps = [
      { name: 'a', target, dependsOn: ['b'] },
      { name: 'b', target: {}, dependsOn: ['a'] },
      { name: 'c', target: { pool: 'nowhere', handler: 'h' } },
      { name: 'd', target, payload: 1n, timeoutSec: 0, labels: { x: '' } },
    ]
    expect(await refused(steps)).toEqual({
      code: 'VALIDATION',
      pointers: [
        ...['/steps/0/dependsOn/0', '/steps/1/target/handler', '/steps/2/target/pool'],
        ...['/steps/3/payload', '/steps/3/timeoutSec', '/steps/3/labels/x'],
      ],
    })
  })

  it('has its own code if it is of one kind', async () => {
    const pool = { pool: 'nowhere', handler: 'h' }
    const steps = [
      { name: 'a', target: pool },
      { name: 'b', target: pool },
    ]
    expect(await refused(steps)).toEqual({
      code: 'POOL_UNKNOWN',
      pointers: ['/steps/0/target/pool', '/steps/1/target/pool'],
    })
    const large = [{ name: 'a', target, payload: 'x'.repeat(300_000) }]
    expect(await refused(large)).toEqual({ code: 'PAYLOAD_TOO_LARGE', pointers: ['/steps/0/payload'] })
  })

  it('is told in short if it is much', async () => {
    const steps = Array.from({ length: 100 }, (_, i) => ({ name: `s${i}`, target, timeoutSec: 0, deadlineSec: 0 }))
    expect((await refused(steps)).pointers).toHaveLength(50)
  })

  it('a defect of the node is not', async () => {
    const broken = { require: () => Promise.reject(new Error('broken')) }
    await expect(define([{ name: 'a', target }], { jobs: broken })).rejects.toThrow('broken')
  })
})
