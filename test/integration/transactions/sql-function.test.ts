import { encodeJson } from '@carillon/sdk'
import type { ExecutionView } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { poll } from '../../../packages/embedded/src/waiting.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage[Symbol.asyncDispose]())

async function select(call: string): Promise<string[]> {
  const { rows } = await stage.admin.query<{ id: string }>(`select id from (select ${call}) calls (id)`)
  return rows.map((row) => row.id)
}

async function ended(executionId: string, tenant?: string): Promise<ExecutionView> {
  const look = async () => {
    const execution = await stage.carillon.execution(executionId, { tenant })
    return execution?.finishedAt ? execution : undefined
  }
  const execution = await poll(look, { everyMs: 20, forMs: 10_000 })
  if (!execution) throw new Error(`execution ${executionId} has not ended`)
  return execution
}

describe('carillon.enqueue in plain SQL', () => {
  it('takes a handler and a payload', async () => {
    const [id] = await select(`carillon.enqueue('note', '{"a":1}')`)
    await expect(ended(id!)).resolves.toMatchObject({ state: 'SUCCEEDED', origin: 'SUBMIT', priority: 'NORMAL' })
    expect(stage.noted.get(id!)).toEqual([{ a: 1 }])
  })

  it('takes a handler alone', async () => {
    const [id] = await select(`carillon.enqueue('note')`)
    await expect(ended(id!)).resolves.toMatchObject({ state: 'SUCCEEDED' })
    expect(stage.noted.get(id!)).toEqual([null])
  })

  it('takes everything by name', async () => {
    const [id] = await select(`carillon.enqueue('note', jsonb_build_object('b', 2)::json, tenant => 'acme',
      priority => 'CRITICAL', pool => 'default', labels => '{"customer": "42"}', name => 'by hand',
      traceparent => '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      policy => '{"timeoutSec": 1.5, "deadlineSec": 60, "delivery": "AT_MOST_ONCE",
                  "retryPolicy": {"maxAttempts": 1, "delaysMs": [0, 10], "nonRetryableErrors": ["TypeError"]}}')`)
    const execution = await ended(id!, 'acme')
    expect(execution).toMatchObject({ state: 'SUCCEEDED', priority: 'CRITICAL', labels: { customer: '42' } })
    expect(stage.noted.get(id!)).toEqual([{ b: 2 }])
  })

  it('enqueues one for every row of a query', async () => {
    const ids = await select(`carillon.enqueue('note', json_build_object('n', n)) from generate_series(1, 50) n`)
    expect(new Set(ids).size).toBe(50)
    for (const id of ids) await expect(ended(id)).resolves.toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
    expect(ids.map((id) => stage.noted.get(id))).toEqual(ids.map((_, i) => [{ n: i + 1 }]))
  })

  it('runs at its time, and at once if that has passed', async () => {
    const [later] = await select(`carillon.enqueue('note', run_at => clock_timestamp() + interval '500 ms')`)
    expect(await stage.rowsOf(later!)).toEqual({ submissions: 1 })
    const [atOnce] = await select(`carillon.enqueue('note', run_at => '1999-12-31 23:59:59+00')`)
    await expect(ended(atOnce!)).resolves.toMatchObject({ state: 'SUCCEEDED' })
    const { startedAt, scheduledFor } = await ended(later!)
    expect(startedAt!.getTime()).toBeGreaterThanOrEqual(scheduledFor.getTime())
  })

  it('stays on its day when it is far away', async () => {
    const [id] = await select(`carillon.enqueue('note', run_at => '9999-12-31 23:59:59.999+00')`)
    expect(await stage.rowsOf(id!)).toEqual({ submissions: 1 })
    await stage.admin.query('delete from carillon.submissions where execution_id = $1', [id])
  })

  it('says of its functions what they take', async () => {
    const { rows } = await stage.admin.query<{ name: string }>(
      `select p.proname name from pg_proc p where p.pronamespace = 'carillon'::regnamespace
         and p.proname in ('enqueue', 'enqueued', 'complete_in') and obj_description(p.oid, 'pg_proc') is not null order by 1`,
    )
    expect(rows.map(({ name }) => name)).toEqual(['complete_in', 'enqueue', 'enqueued'])
  })
})

/** JSON with an even number of levels around `inner`. */
const nested = (levels: number, inner = '1') => `${'[{"a":'.repeat(levels / 2)}${inner}${'}]'.repeat(levels / 2)}`

describe('carillon.enqueue counts levels as the other ways in do', () => {
  const take = (text: string) =>
    stage.admin.query(`select carillon.enqueue('note', $1::json, run_at => '2100-01-01')`, [text])

  it.each([
    ['of numbers', '1'],
    ['with brackets in strings', String.raw`"]}\"]}"`],
    ['with NUL, which jsonb does not take', String.raw`"\u0000[[{"`],
    ['with a lone surrogate', String.raw`"\ud800\\"`],
    ['with a number beyond jsonb', '1e999999'],
  ])('%s', async (_, inner) => {
    await take(nested(96, inner))
    await expect(take(`[${nested(96, inner)}]`)).rejects.toMatchObject({
      code: '22023',
      message: expect.stringMatching(/96 deep/),
    })
  })

  it('takes many containers beside each other, and what encodeJson takes', async () => {
    await take(`[${'{"b": []},'.repeat(200)}0]`)
    expect(() => encodeJson(JSON.parse(nested(96)), 'payload')).not.toThrow()
    expect(() => encodeJson(JSON.parse(`[${nested(96)}]`), 'payload')).toThrow(/96 deep/)
  })
})

const mistakes: [string, string, RegExp, RegExp][] = [
  ['no handler', `null`, /handler must have 1 to 200/, /registered/],
  ['an empty handler', `''`, /handler must have 1 to 200/, /registered/],
  ['a control character', `E'a\\tb'`, /no control characters/, /registered/],
  ['an empty tenant', `'note', tenant => ''`, /tenant must have 1 to 200/, /payload/],
  ['a long name', `'note', name => repeat('n', 201)`, /name must have 1 to 200/, /payload/],
  ['a long traceparent', `'note', traceparent => repeat('0', 101)`, /traceparent must have 1 to 100/, /Leave it out/],
  ['an unknown pool', `'note', pool => 'batch'`, /pool batch does not exist/, /Start a worker/],
  ['no pool', `'note', pool => null`, /pool null does not exist/, /Start a worker/],
  [
    'an unknown priority',
    `'note', priority => 'URGENT'`,
    /priority URGENT is not known/,
    /CRITICAL, HIGH, NORMAL, LOW/,
  ],
  ['no priority', `'note', priority => null`, /priority null is not known/, /CRITICAL, HIGH, NORMAL, LOW/],
  ['a large payload', `'note', to_json(repeat('x', 262143))`, /larger than 256 KiB/, /reference/],
  ['the year 10000', `'note', run_at => '10000-01-01 00:00:00+00'`, /before the year 10000/, /earlier/],
  ['the end of time', `'note', run_at => 'infinity'`, /before the year 10000/, /earlier/],
  ['labels that are a list', `'note', labels => '["a"]'`, /labels must be a JSON object of texts/, /customer/],
  ['a label that is a number', `'note', labels => '{"a": 1}'`, /labels must be a JSON object of texts/, /customer/],
  ['a label that is a list', `'note', labels => '{"a": ["b"]}'`, /labels must be a JSON object of texts/, /customer/],
  ['a long label', `'note', labels => json_build_object('a', repeat('b', 256))::jsonb`, /too long/, /At most 16/],
  [
    'many labels',
    `'note', labels => (select jsonb_object_agg(n, 'x') from generate_series(1, 17) n)`,
    /too many/,
    /16/,
  ],
  ['a policy that is none', `'note', policy => '[]'`, /must be JSON objects/, /maxAttempts/],
  ['an unknown policy', `'note', policy => '{"timeout": 5}'`, /policy.timeout is not known/, /timeoutSec/],
  ['a time in words', `'note', policy => '{"deadlineSec": "soon"}'`, /deadlineSec must be a whole number/, /"soon"/],
  ['half a second', `'note', policy => '{"startWithinSec": 0.5}'`, /startWithinSec must be a whole number/, /0.5/],
  ['a huge deadline', `'note', policy => '{"deadlineSec": 1e12}'`, /deadlineSec must be/, /1000000000000/],
  ['null for a policy', `'note', policy => '{"timeoutSec": null}'`, /timeoutSec must be a number/, /null/],
  ['a list for a number', `'note', policy => '{"timeoutSec": [5]}'`, /timeoutSec must be a number/, /\[5\]/],
  ['a delivery', `'note', policy => '{"delivery": "TWICE"}'`, /delivery must be AT_LEAST_ONCE or/, /TWICE/],
  ['retries', `'note', policy => '{"retryPolicy": 3}'`, /must be JSON objects/, /maxAttempts/],
  ['attempts', `'note', policy => '{"retryPolicy": {"maxAttempts": 0}}'`, /retryPolicy.maxAttempts must be/, /It is 0/],
  ['no dedupe key', `'note', dedupe => '{}'`, /dedupe must be a JSON object with a key/, /invoice/],
  ['an empty dedupe key', `'note', dedupe => '{"key": ""}'`, /dedupe.key must be a text of 1 to 200/, /Known are/],
  ['an unknown dedupe', `'note', dedupe => '{"key": "a", "ttl": 5}'`, /dedupe.ttl is not known/, /windowSec/],
  [
    'a dedupe action',
    `'note', dedupe => '{"key": "a", "onDuplicate": "DROP"}'`,
    /onDuplicate must be KEEP/,
    /Known are/,
  ],
  [
    'a window of 0',
    `'note', dedupe => '{"key": "a", "windowSec": 0}'`,
    /windowSec must be a whole number/,
    /Known are/,
  ],
  ['a wait alone', `'note', dedupe => '{"key": "a", "maxWaitSec": 5}'`, /goes with onDuplicate DEBOUNCE/, /Known are/],
  ['a deep payload', `'note', (repeat('[', 97) || repeat(']', 97))::json`, /nested more than 96 deep/, /Flatten/],
  [
    'delays',
    `'note', policy => '{"retryPolicy": {"delaysMs": ["1"]}}'`,
    /delaysMs must be an array of at most 1000 whole/,
    /"1"/,
  ],
  [
    'names',
    `'note', policy => '{"retryPolicy": {"nonRetryableErrors": "E"}}'`,
    /must be an array of at most 100 names/,
    /"E"/,
  ],
]

describe('carillon.enqueue refuses with a hint and stores nothing', () => {
  it.each(mistakes)('%s', async (_, call, message, hint) => {
    const before = await stage.admin.query('select count(*)::int n from carillon.submissions')
    const error = await select(`carillon.enqueue(${call})`).then(
      () => null,
      (reason: unknown) => reason as { code: string; message: string; hint: string },
    )
    expect(error).toMatchObject({ code: '22023' })
    expect(error!.message).toMatch(message)
    expect(error!.hint).toMatch(hint)
    const after = await stage.admin.query('select count(*)::int n from carillon.submissions')
    expect(after.rows).toEqual(before.rows)
  })
})
