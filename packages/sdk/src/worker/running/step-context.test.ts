import { expect, test } from 'vitest'
import { defineHandler } from '../../handler.ts'
import { handler, startRig } from '../testing/rig.ts'
import { execution } from '../testing/scripted-transport.ts'
import type { HandlerContext } from './context.ts'
import { stepContext } from './step-context.ts'

const runId = '01900000-0000-7000-8000-000000000001'

async function seenBy(dag: Parameters<typeof execution>[0]): Promise<HandlerContext['dag']> {
  let seen: HandlerContext['dag'] | undefined
  await using rig = await startRig([
    handler((ctx) => {
      seen = ctx.dag
    }),
  ])
  const given = execution(dag)
  rig.transport.offer(given)
  await rig.transport.outcomeOf(given)
  return seen!
}

test('a step sees its run and how each of the steps it depends on has ended, with its result', async () => {
  const dag = {
    ...{ runId, step: 'report', payload: { day: '2030-01-01' } },
    results: { extract: { rows: 3 }, load: null, check: null },
    states: { load: 'DEAD' as const },
  }
  expect(await seenBy({ dag })).toEqual({
    ...dag,
    itemIndex: null,
    states: { extract: 'SUCCEEDED', load: 'DEAD', check: 'SUCCEEDED' },
  })
})

test('what is no step has no graph, also from a node that knows of none', async () => {
  expect(await seenBy({ dag: null })).toBeNull()
  expect(await seenBy({})).toBeNull()
})

test('a root has nothing to depend on, and its run may have no payload', () => {
  const root = { runId, step: 'extract', payload: null, results: {} }
  expect(stepContext(root)).toEqual({ ...root, itemIndex: null, states: {} })
  expect(stepContext({ ...root, step: 'load.3', itemIndex: 3 })).toMatchObject({ itemIndex: 3 })
})

test('every step is in both, whatever was left out and whatever it is called', () => {
  const results = JSON.parse('{"__proto__": 1, "constructor": 2}')
  const seen = stepContext({ runId, step: 's', payload: null, results, states: { lost: 'SKIPPED' } })
  expect(Object.entries(seen.results)).toEqual([
    ['__proto__', 1],
    ['constructor', 2],
    ['lost', null],
  ])
  expect(Object.entries(seen.states)).toEqual([
    ['__proto__', 'SUCCEEDED'],
    ['constructor', 'SUCCEEDED'],
    ['lost', 'SKIPPED'],
  ])
})

test('a handler that needs results does not begin without them, and is not tried again', async () => {
  const needs = { extract: defineHandler({ name: 'extract' }), load: defineHandler({ name: 'load' }) }
  const definition = defineHandler({ name: 'test', needs })
  let begun = 0
  await using rig = await startRig([{ definition, run: () => ++begun }])
  const step = { runId, step: 's', payload: null }
  const outcomeOf = (dag: NonNullable<Parameters<typeof execution>[0]>['dag']) => {
    const given = execution({ dag })
    rig.transport.offer(given)
    return rig.transport.outcomeOf(given)
  }
  const refused = (message: string) => ({
    ...{ outcome: 'FAILED', permanent: true, error: { name: 'ResultsMissing', message } },
  })
  expect(await outcomeOf(null)).toMatchObject(refused('It needs the result of extract, load'))
  expect(await outcomeOf({ ...step, results: { load: 1 } })).toMatchObject(refused('It needs the result of extract'))
  const failed = { ...step, results: { extract: 1, load: null }, states: { load: 'DEAD' as const } }
  expect(await outcomeOf(failed)).toMatchObject(refused('It needs the result of load'))
  expect(begun).toBe(0)
  expect(await outcomeOf({ ...step, results: { extract: null, load: 1 } })).toMatchObject({ outcome: 'SUCCEEDED' })
})
