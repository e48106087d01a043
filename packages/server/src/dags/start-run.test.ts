import { CarillonError } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import type { DagRecord } from '../store/dags/definitions.ts'
import type { AskedRun, DagRunRecord } from './runs.ts'
import { type RunStarterOptions, startInlineRun, startRun } from './start-run.ts'
import { parseSteps } from './steps-text.ts'

const owner = { tenant: 'acme', actor: 'ada' }
const target = { handler: 'h' }
const graph: DagRecord = {
  ...{ dagId: 'id', version: 3, tenant: 'acme', name: 'nightly', key: 'k', managedBy: null, state: 'ACTIVE' },
  ...{ labels: { team: 'a', env: 'x' }, deadlineSec: 60, createdAt: 0, updatedAt: 0 },
  steps:
    '[{"name":"b","dependsOn":["a"],"target":{"handler":"h"},"payload":1.50},{"name":"a","target":{"handler":"h"}}]',
}
const run = { runId: 'run' } as DagRunRecord

/** Refuses the first `conflicts` starts. */
function stage({ conflicts = 0 } = {}) {
  const started: AskedRun[] = []
  let version = 0
  const options: RunStarterOptions = {
    clock: { now: () => 0 },
    jobs: { require: async () => 'pool' },
    dags: { readActive: async () => ({ ...graph, version: ++version }) },
    dagRuns: {
      async start(_, asked) {
        started.push(asked)
        if (started.length <= conflicts) throw new CarillonError('STATE_CONFLICT', 'changed')
        return run
      },
    },
  }
  return { options, started }
}

describe('a run of a graph', () => {
  it('has the steps of the graph in order, its name, its deadline and its labels, beside its own', async () => {
    const { options, started } = stage()
    const input = { payload: { n: 1 }, labels: { env: 'y' }, traceparent: 't' }
    expect(await startRun(options, owner, 'k', input)).toBe(run)
    expect(started).toMatchObject([
      {
        ...{ dag: { dagId: 'id', version: 1 }, name: 'nightly', payload: '{"n":1}', deadlineSec: 60, traceparent: 't' },
        labels: { team: 'a', env: 'y' },
        steps: [
          { name: 'a', children: [1], payload: null, labels: { team: 'a', env: 'y' } },
          { name: 'b', dependsOn: [0], payload: '1.50' },
        ],
      },
    ])
    expect(parseSteps(started[0]!.stepsText).map(({ name }) => name)).toEqual(['a', 'b'])
    expect(started[0]!.stepsText).toContain('"payload":1.50')
  })

  it('may have a deadline of its own', async () => {
    const { options, started } = stage()
    await startRun(options, owner, 'k', { deadlineSec: 5 })
    expect(started[0]).toMatchObject({ deadlineSec: 5, payload: null, traceparent: null })
  })

  it('reads the graph again if it was changed meanwhile, a few times', async () => {
    const { options, started } = stage({ conflicts: 2 })
    await startRun(options, owner, 'k', {})
    expect(started.map(({ dag }) => dag!.version)).toEqual([1, 2, 3])
    const contended = stage({ conflicts: 100 })
    await expect(startRun(contended.options, owner, 'k', {})).rejects.toMatchObject({ code: 'STATE_CONFLICT' })
    expect(contended.started).toHaveLength(5)
  })

  it('has at most 16 labels, with those of the graph', async () => {
    const { options } = stage()
    const labels = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`l${i}`, 'x']))
    await expect(startRun(options, owner, 'k', { labels })).rejects.toMatchObject({ errors: [{ pointer: '/labels' }] })
  })
})

describe('a run with steps of its own', () => {
  it('belongs to no graph and is named by its first step', async () => {
    const { options, started } = stage()
    const steps = [
      { name: 'b', dependsOn: ['a'], target },
      { name: 'a', target },
    ]
    await startInlineRun(options, owner, { steps, labels: {} })
    await startInlineRun(options, owner, { steps, name: 'mine', deadlineSec: 9, labels: { a: 'b' } })
    expect(started).toMatchObject([
      { dag: null, name: 'b', labels: null, deadlineSec: null, payload: null },
      { dag: null, name: 'mine', labels: { a: 'b' }, deadlineSec: 9 },
    ])
  })

  it('is refused like a graph', async () => {
    const { options, started } = stage()
    const steps = [{ name: 'a', dependsOn: ['a'], target }]
    await expect(startInlineRun(options, owner, { steps })).rejects.toMatchObject({ code: 'VALIDATION' })
    await expect(startInlineRun(options, owner, { steps: [{ name: 'a', target }], payload: 1n })).rejects.toMatchObject(
      {
        errors: [{ pointer: '/payload' }],
      },
    )
    expect(started).toEqual([])
  })
})
