import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes })
})
afterAll(() => node[Symbol.asyncDispose]())

const target = { handler: 'h' }
const step = (name: string, more: object = {}) => ({ name, target, ...more })
const after = (name: string, ...dependsOn: string[]) => step(name, { dependsOn })
const labels = (count: number, prefix = 'l') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, 'x']))
const large = 'x'.repeat(256 * 1024)

/** Status, code and what is wrong where, with the hint. */
async function refused(body: unknown) {
  const answer = await node.ask('POST /v1/dags', body)
  const { status } = answer
  expect(status).not.toBe(201)
  const errors: { pointer: string; message: string; hint?: string }[] = answer.body.errors
  return { status, code: answer.body.code, errors }
}

describe('a graph is refused, with its place and what to do, if', () => {
  const validation: [what: string, steps: unknown, pointer: string, text: string][] = [
    ['it has a cycle', [after('a', 'b'), after('b', 'c'), after('c', 'a')], '/steps/0/dependsOn/0', 'a -> b -> c -> a'],
    ['a step depends on itself', [after('a', 'a')], '/steps/0/dependsOn/0', 'a depends on itself'],
    [
      'a dependency is unknown',
      [step('extract'), after('b', 'extrat')],
      '/steps/1/dependsOn/0',
      'Did you mean extract?',
    ],
    ['a dependency is named twice', [step('a'), after('b', 'a', 'a')], '/steps/1/dependsOn', 'duplicate'],
    ['two steps have one name', [step('a'), step('a')], '/steps/1/name', 'that of step 0 too'],
    ['it has no step', [], '/steps', '1 items'],
    ['steps are no list', { a: step('a') }, '/steps', 'array'],
    ['a step is none', [null], '/steps/0', 'object'],
    ['it has 1,001 steps', Array.from({ length: 1_001 }, (_, i) => step(`s${i}`)), '/steps', '1000'],
    ['a step has an unknown field', [step('a', { dependOn: ['b'] })], '/steps/0/dependOn', 'Did you mean dependsOn?'],
    ['a step has a schedule', [step('a', { schedule: '* * * * *' })], '/steps/0/schedule', 'not known'],
    ['a step has no target', [{ name: 'a' }], '/steps/0/target', 'required'],
    ['a target has no handler', [{ name: 'a', target: {} }], '/steps/0/target/handler', 'exactly one'],
    [
      'a target is two',
      [{ name: 'a', target: { handler: 'h', http: { url: 'http://x' } } }],
      '/steps/0/target',
      'handler and http',
    ],
    ['a target has an unknown field', [{ name: 'a', target: { handlr: 'h' } }], '/steps/0/target/handlr', 'handler'],
    [
      'a handler is reserved',
      [{ name: 'a', target: { handler: 'carillon.http' } }],
      '/steps/0/target/handler',
      'carillon.',
    ],
    ['a condition is unknown', [step('a', { runIf: 'ALWAYS' })], '/steps/0/runIf', 'ALL_DONE'],
    [
      'a policy is out of range',
      [step('a', { retryPolicy: { maxAttempts: 0 } })],
      '/steps/0/retryPolicy/maxAttempts',
      '1',
    ],
    ['a step has too many labels', [step('a', { labels: labels(17) })], '/steps/0/labels', '16'],
    ...['', 'a b', '-a', '.', 'a/b', 'ä', 'a\u0000', 'a\n', 'x'.repeat(101), 5, null, '$ref', '{{a}}'].map(
      (name): [string, unknown, string, string] => [
        `a step is called ${JSON.stringify(name)}`,
        [{ name, target }],
        '/steps/0/name',
        '',
      ],
    ),
  ]

  it.each(validation)('%s', async (_, steps, pointer, text) => {
    const { status, code, errors } = await refused({ steps })
    expect({ status, code }).toEqual({ status: 422, code: 'VALIDATION' })
    expect(errors.map((error) => error.pointer)).toContain(pointer)
    expect(JSON.stringify(errors)).toContain(text)
  })

  it.each([
    ['key', { key: '' }],
    ['key', { key: 'a\u0007' }],
    ['name', { name: 'x'.repeat(201) }],
    ['deadlineSec', { deadlineSec: 0 }],
    ['deadlineSec', { deadlineSec: 1.5 }],
    ['labels', { labels: labels(17) }],
    ['schedule', { schedule: '0 3 * * *' }],
    ['step', { step: [] }],
  ])('its %s is wrong: %j', async (field, more) => {
    const { status, code, errors } = await refused({ steps: [step('a')], ...more })
    expect({ status, code }).toEqual({ status: 422, code: 'VALIDATION' })
    expect(errors[0]!.pointer).toBe(`/${field}`)
  })

  it('a pool does not exist', async () => {
    const to = (name: string, pool: string) => step(name, { target: { handler: 'h', pool } })
    const answer = await refused({ steps: [step('a'), to('b', 'defaut'), to('c', 'defaut')] })
    expect(answer).toMatchObject({ status: 422, code: 'POOL_UNKNOWN' })
    expect(answer.errors).toMatchObject([
      { pointer: '/steps/1/target/pool', message: 'there is no pool defaut', hint: 'Did you mean default?' },
      { pointer: '/steps/2/target/pool' },
    ])
  })

  it('the operator does not allow a target', async () => {
    const answer = await refused({ steps: [step('a'), { name: 'b', target: { shell: { command: 'rm' } } }] })
    expect(answer).toMatchObject({ status: 422, code: 'TARGET_NOT_ALLOWED' })
    expect(answer.errors[0]!.pointer).toMatch(/^\/steps\/1/)
  })

  it('a payload is too large, or nested too deep, or has a number that is none', async () => {
    const answer = await refused({ steps: [step('a'), step('b', { payload: large })] })
    expect(answer).toMatchObject({ status: 413, code: 'PAYLOAD_TOO_LARGE', errors: [{ pointer: '/steps/1/payload' }] })
    const deep = `${'['.repeat(97)}${']'.repeat(97)}`
    const nested = await refused(`{"steps":[{"name":"a","target":{"handler":"h"},"payload":${deep}}]}`)
    expect(nested).toMatchObject({ status: 422, code: 'PAYLOAD_INVALID' })
    const infinite = await refused('{"steps":[{"name":"a","target":{"handler":"h"},"payload":{"n":1e999}}]}')
    expect(infinite).toMatchObject({ code: 'PAYLOAD_INVALID', errors: [{ pointer: '/steps/0/payload/n' }] })
  })

  it('the body is larger than 4 MiB', async () => {
    const steps = Array.from({ length: 17 }, (_, i) => step(`s${i}`, { payload: large.slice(100) }))
    expect((await refused({ steps })).code).toBe('BODY_TOO_LARGE')
  })

  it('it has more than 20,000 dependencies', async () => {
    const steps = Array.from({ length: 300 }, (_, i) => after(`s${i}`, ...Array.from({ length: i }, (_, k) => `s${k}`)))
    const { errors } = await refused({ steps })
    expect(errors).toMatchObject([{ pointer: '/steps', message: expect.stringContaining('44850 dependencies') }])
  })

  it('a step has too many labels with those of the graph', async () => {
    const steps = [step('a', { labels: labels(6, 'own') }), step('b', { labels: labels(7, 'own') }), step('c')]
    const { code, errors } = await refused({ labels: labels(10), steps })
    expect(code).toBe('VALIDATION')
    expect(errors).toMatchObject([
      { pointer: '/steps/1/labels', message: 'labels has 17 entries, with those that are inherited' },
    ])
  })

  it('and all that is wrong with it is told at once', async () => {
    const { status, code, errors } = await refused({
      steps: [
        after('a', 'b'),
        after('b', 'a'),
        step('c', { target: { handler: 'h', pool: 'nowhere' } }),
        step('d', { payload: large }),
        step('e', { dependsOn: ['nobody'], target: {} }),
      ],
    })
    expect({ status, code }).toEqual({ status: 422, code: 'VALIDATION' })
    expect(errors.map(({ pointer }) => pointer).toSorted()).toEqual([
      '/steps/0/dependsOn/0',
      '/steps/2/target/pool',
      '/steps/3/payload',
      '/steps/4/dependsOn/0',
      '/steps/4/target/handler',
    ])
  })

  it('everything is wrong with it, in short', async () => {
    const steps = Array.from({ length: 1_000 }, (_, i) => step(`s${i}`, { target: { handler: 'h', pool: `p${i}` } }))
    const { code, errors } = await refused({ steps })
    expect(code).toBe('POOL_UNKNOWN')
    expect(errors).toHaveLength(50)
  })
})

describe('names that mean something to JavaScript', () => {
  it('are names of steps like others', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length']
    const steps = names.map((name, i) => after(name, ...names.slice(0, i)))
    const answer = await node.ask('POST /v1/dags', { key: '__proto__', steps })
    expect(answer).toMatchObject({ status: 201, body: { key: '__proto__' } })
    expect(answer.body.steps).toEqual(steps)
    expect((await node.ask('GET /v1/dags/__proto__')).body.steps).toEqual(steps)
    expect((await node.ask('GET /v1/dags/constructor')).status).toBe(404)
  })

  it('and keys may have any other character', async () => {
    const key = 'a/b?c=d&é 100%'
    expect((await node.ask('POST /v1/dags', { key, steps: [step('a')] })).status).toBe(201)
    expect((await node.ask(`GET /v1/dags/${encodeURIComponent(key)}`)).body.key).toBe(key)
  })
})
