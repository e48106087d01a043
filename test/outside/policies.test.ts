/**
 * A policy means the same whichever way it comes in: what the API takes, `carillon.enqueue` takes, what it refuses is refused.
 * Policies are generated near the edges of every rule, and a whole number is sometimes written 5.0.
 */
import { limits, ranges } from '@carillon/contract'
import { JobInput } from '@carillon/contract/api'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checker } from '../../packages/server/src/http/validation.ts'
import { checkPolicy } from '../../packages/server/src/jobs/policy.ts'
import { Problems } from '../../packages/server/src/jobs/validate.ts'
import { openStore, type TestStore } from '../support/store.ts'

let store: TestStore
beforeAll(async () => {
  store = await openStore({ connections: 4 })
})
afterAll(() => store[Symbol.asyncDispose]())

const checkShape = checker(JobInput, 'body')
const job = { type: 'ONE_SHOT', runAt: '2030-01-31T08:00:00Z', target: { handler: 'h' } }

/** As JSON text, because 5.0 and 5 are one number in JavaScript and two texts. */
type Written = string

const anything: fc.Arbitrary<Written> = fc
  .oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('', '5', -1, 1e300, 0.5, 31_622_401))
  .map((value) => JSON.stringify(value))

function numberNear({ min, max }: { min: number; max: number }): fc.Arbitrary<Written> {
  const plain = fc.oneof(
    fc.constantFrom(min, max, min - 1, max + 1, min + 0.5, max - 0.5, 0, 5),
    fc.integer({ min: Math.ceil(min), max: Math.min(max, 2 ** 31) }),
    fc.double({ min, max, noNaN: true }),
  )
  const asFloat = fc.integer({ min: 0, max: 10_000 }).map((n) => `${n}.0`)
  return fc.oneof(
    { weight: 6, arbitrary: plain.map((n) => JSON.stringify(n)) },
    { weight: 3, arbitrary: asFloat },
    anything,
  )
}

const names = fc.oneof(
  fc.constantFrom('', 'TypeError', 'x'.repeat(200), 'x'.repeat(201), 'a\nb', '\u007f'),
  fc.string(),
)
const wordOf = (...words: string[]) =>
  fc.oneof(
    fc.constantFrom(...words, words[0]!.toLowerCase()).map((w) => JSON.stringify(w)),
    anything,
  )
const listOf = (item: fc.Arbitrary<Written>, most: number) =>
  fc.oneof(
    fc.array(item, { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc.constantFrom(most, most + 1).chain((n) => item.map((one) => `[${Array(n).fill(one).join(',')}]`)),
    anything,
  )
const objectOf = (fields: Record<string, fc.Arbitrary<Written>>): fc.Arbitrary<Written> =>
  fc
    .subarray(Object.keys(fields), { maxLength: 3 })
    .chain((keys) => fc.tuple(...keys.map((key) => fields[key]!.map((value) => `${JSON.stringify(key)}:${value}`))))
    .map((written) => `{${written.join(',')}}`)

const retryPolicy = objectOf({
  ...{ maxAttempts: numberNear(ranges.maxAttempts), initialDelayMs: numberNear(ranges.initialDelayMs) },
  ...{
    factor: numberNear(ranges.factor),
    maxDelayMs: numberNear(ranges.maxDelayMs),
    jitter: numberNear(ranges.jitter),
  },
  backoff: wordOf('EXPONENTIAL', 'LINEAR', 'FIXED'),
  delaysMs: listOf(numberNear(ranges.delaysMs), 1_000),
  nonRetryableErrors: listOf(
    fc.oneof(
      names.map((n) => JSON.stringify(n)),
      anything,
    ),
    100,
  ),
  unheardOf: anything,
})
const policies = objectOf({
  ...{ timeoutSec: numberNear(ranges.timeoutSec), deadlineSec: numberNear(ranges.deadlineSec) },
  ...{ heartbeatTimeoutSec: numberNear(ranges.heartbeatTimeoutSec), startWithinSec: numberNear(ranges.startWithinSec) },
  ...{ cancelGraceSec: numberNear(ranges.cancelGraceSec), unknownHandlerSec: numberNear(ranges.unknownHandlerSec) },
  delivery: wordOf('AT_LEAST_ONCE', 'AT_MOST_ONCE'),
  limits: listOf(
    fc
      .constantFrom('a', 'a:b', 'a:{payload.x.0}', '', 'x'.repeat(600), 'x'.repeat(601), 'a\nb')
      .map((n) => JSON.stringify(n)),
    limits.limitsNamed,
  ),
  retryPolicy: fc.oneof({ weight: 4, arbitrary: retryPolicy }, anything),
  unheardOf: anything,
})

function httpTakes(policy: Written): boolean {
  const input = { ...job, ...JSON.parse(policy) }
  try {
    checkShape(input)
    const problems = new Problems()
    checkPolicy(problems, input)
    problems.throwIfAny()
    return true
  } catch {
    return false
  }
}

/** Anything but a refusal is raised. 22P05: a text with \\u0000, which jsonb cannot hold. */
const takesSql = `create function takes(p_policy text) returns boolean language plpgsql as $$
  begin
    perform carillon.check_policy(p_policy::jsonb);
    return true;
  exception when sqlstate '22023' or sqlstate '22P05' then return false;
  end $$`

async function sqlTakes(written: Written[]): Promise<boolean[]> {
  const sql = 'select takes(p) taken from unnest($1::text[]) with ordinality u(p, n) order by n'
  const rows = await store.database.query<{ taken: boolean }>('takes', sql, [written])
  return rows.map(({ taken }) => taken)
}

describe('policies', () => {
  it('are taken by SQL and by HTTP alike', async () => {
    await store.database.query(null, takesSql)
    await fc.assert(
      fc.asyncProperty(fc.array(policies, { minLength: 50, maxLength: 50 }), async (written) => {
        const bySql = await sqlTakes(written)
        const differing = written.filter((policy, i) => bySql[i] !== httpTakes(policy))
        expect(differing).toEqual([])
      }),
      { numRuns: 40 },
    )
  })

  it('that are taken can be fired and leased, whichever way their numbers are written', async () => {
    await store.clear()
    // One that must start within a second or two may have expired before it is leased.
    const written = fc
      .sample(policies, 500)
      .filter((each) => httpTakes(each) && !(JSON.parse(each).startWithinSec < 60))
      // Their limits would have to be declared; test/integration/http/limited-work.test.ts has those that are.
      .filter((each) => JSON.parse(each).limits === undefined)
    written.push(
      '{"deadlineSec":5.0}',
      '{"startWithinSec":60.0}',
      '{"cancelGraceSec":5.0}',
      '{"heartbeatTimeoutSec":7.0}',
    )
    const sql = `select carillon.enqueue('h', '{}', policy => p) from unnest($1::jsonb[]) p`
    await store.database.query('enqueue', sql, [written])
    const fired = await store.fireReturns('submissions')
    expect(fired).toHaveLength(written.length)
    const leased = await store.lease(written.length)
    expect(leased.map(({ executionId }) => executionId).sort()).toEqual(fired.sort())
  })
})
