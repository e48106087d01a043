import { CarillonError } from '@carillon/contract'
import { DagStep } from '@carillon/contract/api'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createClient } from './client/client.ts'
import { defineDag, type StepOptions } from './dag.ts'
import { defineHandler, eachOf } from './handler.ts'
import { implementHandler, type RegisteredHandler } from './worker/running/registered-handler.ts'

const rows = z.object({ rows: z.number() })
const extract = defineHandler({ name: 'extract', pool: 'etl', payload: z.object({ source: z.string() }), result: rows })
const transform = defineHandler({ name: 'transform', needs: { extract }, result: z.string() })
const join = defineHandler({ name: 'join', needs: { extract, transform } })
const notify = defineHandler({ name: 'notify' })

const everyPolicy: StepOptions<string, unknown, undefined, readonly []> = {
  ...{
    payload: 1,
    labels: { a: 'b' },
    runIf: 'ALL_DONE',
    when: 'true',
    allowFailure: true,
    priority: 'HIGH',
    retryPolicy: { maxAttempts: 2 },
  },
  ...{ timeoutSec: 1, deadlineSec: 2, heartbeatTimeoutSec: 1, startWithinSec: 1, cancelGraceSec: 1 },
  ...{ unknownHandlerSec: 1, delivery: 'AT_MOST_ONCE', limits: ['acct'], when: 'true' },
}

describe('a graph written down in code', () => {
  it('is what the API takes', () => {
    const dag = defineDag({ key: 'nightly', name: 'Every night', labels: { team: 'bi' }, deadlineSec: 60 })
    const extracted = dag.step('extract', extract, { payload: { source: 'orders' }, timeoutSec: 5 })
    const transformed = dag.step('transform', transform, { after: [extracted] })
    const joined = dag.step(
      'join',
      implementHandler(join, () => {}),
      { after: [extracted, transformed, extracted] },
    )
    dag.step('notify', notify, {
      after: [joined],
      runIf: 'ALL_DONE',
      allowFailure: true,
      retryPolicy: { maxAttempts: 1 },
    })
    dag.step('alone', notify)
    expect(dag.build()).toEqual({
      ...{ key: 'nightly', name: 'Every night', labels: { team: 'bi' }, deadlineSec: 60 },
      steps: [
        { name: 'extract', target: { pool: 'etl', handler: 'extract' }, payload: { source: 'orders' }, timeoutSec: 5 },
        { name: 'transform', target: { pool: 'default', handler: 'transform' }, dependsOn: ['extract'] },
        { name: 'join', target: { pool: 'default', handler: 'join' }, dependsOn: ['extract', 'transform'] },
        {
          ...{ name: 'notify', target: { pool: 'default', handler: 'notify' }, dependsOn: ['join'] },
          ...{ runIf: 'ALL_DONE', allowFailure: true, retryPolicy: { maxAttempts: 1 } },
        },
        { name: 'alone', target: { pool: 'default', handler: 'notify' } },
      ],
    })
  })

  it('gives handlers the results they need by their types', () => {
    implementHandler(join, ({ dag }) => {
      expectTypeOf(dag.results).toEqualTypeOf<Readonly<{ extract: { rows: number }; transform: string }>>()
      // @ts-expect-error: it does not need it
      dag.results.other
    })
    implementHandler(notify, ({ dag }) => {
      expectTypeOf(dag).toExtend<{ results: Readonly<Record<string, unknown>> } | null>()
      // @ts-expect-error: it may be no step
      dag.results
    })
    expectTypeOf(implementHandler(join, () => {})).toExtend<RegisteredHandler>()
    const byHand = defineHandler<null, null, number, number, { extract: { rows: number } }>({
      name: 'by_hand',
      needs: { extract },
    })
    implementHandler(byHand, ({ dag }) => dag.results.extract.rows)
    // @ts-expect-error: extract does not return that
    defineHandler<null, null, number, number, { extract: string }>({ name: 'wrong', needs: { extract } })
  })

  it('does not compile with a dependency that is missing, wrong, or of another graph', () => {
    const dag = defineDag({ key: 'nightly' })
    const extracted = dag.step('extract', extract, { payload: { source: 'orders' } })
    const other = dag.step('other', extract, { payload: { source: 'orders' } })
    // @ts-expect-error: it needs extract
    expect(() => dag.step('a', transform)).toThrow('step a needs the result of extract, and is not after it')
    // @ts-expect-error: it needs extract
    expect(() => dag.step('a', transform, {})).toThrow('needs the result of extract')
    // @ts-expect-error: other is not extract
    expect(() => dag.step('a', transform, { after: [other] })).toThrow('needs the result of extract')
    // @ts-expect-error: it needs transform too
    expect(() => dag.step('a', join, { after: [extracted] })).toThrow('needs the result of transform')
    // @ts-expect-error: after a failure there is no result
    expect(() => dag.step('a', transform, { after: [extracted], runIf: 'ALL_DONE' })).toThrow('must be ALL_SUCCEEDED')
    // @ts-expect-error: a step has a name, and is no name
    expect(() => dag.step('a', notify, { after: ['extract'] })).toThrow(CarillonError)

    const weekly = defineDag({ key: 'weekly' })
    // @ts-expect-error: it is a step of nightly
    expect(() => weekly.step('a', notify, { after: [extracted] })).toThrow(
      'step a is after extract, which is no step of this graph',
    )
    const sameNames = defineDag()
    const counted = sameNames.step('extract', defineHandler({ name: 'count', result: z.number() }))
    // @ts-expect-error: a step named extract with another result
    sameNames.step('a', transform, { after: [counted] })
  })

  it('does not compile without the payload its handler takes, or with another', () => {
    const dag = defineDag()
    // @ts-expect-error: extract takes a source
    dag.step('a', extract)
    // @ts-expect-error: extract takes a source
    dag.step('b', extract, { timeoutSec: 1 })
    // @ts-expect-error: a source is a text
    expect(() => dag.step('c', extract, { payload: { source: 1 } })).toThrow(/expected string/)
    // @ts-expect-error: it is called timeoutSec
    expect(() => dag.step('d', notify, { timeout: 1 })).toThrow('timeout is not known')
    expect(() => dag.step('e', notify, { payload: { at: 1n } })).toThrow(/BigInt/)
  })

  it('takes every policy that a step may have', () => {
    const dag = defineDag()
    dag.step('a', notify, everyPolicy)
    expect(Object.keys(dag.build().steps[0]!).sort()).toEqual(
      Object.keys(DagStep.properties)
        .filter((name) => !['dependsOn', 'waitFor', 'forEach', 'concurrency', 'maxFailures'].includes(name))
        .sort(),
    )
  })

  it('has steps that wait for a signal', () => {
    const dag = defineDag()
    const built = dag.step('build', notify)
    const approved = dag.signal('approve', { after: [built], timeoutSec: 60 })
    dag.step('deploy', notify, { after: [approved], when: 'results.approve.approved' })
    expect(dag.build().steps.slice(1)).toEqual([
      { name: 'approve', waitFor: 'SIGNAL', dependsOn: ['build'], timeoutSec: 60 },
      {
        ...{ name: 'deploy', target: { pool: 'default', handler: 'notify' }, dependsOn: ['approve'] },
        when: 'results.approve.approved',
      },
    ])
    expect(() => dag.signal('late', { after: [defineDag().step('other', notify)] })).toThrow('is no step of this graph')
    expect(() => dag.signal('policy', { retryPolicy: {} } as object)).toThrow('retryPolicy is not known')
  })

  it('refuses a name twice, and a graph without steps', () => {
    const dag = defineDag()
    expect(() => dag.build()).toThrow('the graph has no steps')
    dag.step('a', notify)
    expect(() => dag.step('a', notify)).toThrow('step a is the name of a step already')
    expect(() => defineDag({ steps: [] } as object)).toThrow('steps is not known')
  })

  it('what needs results of other steps cannot be enqueued by itself', async () => {
    await using client = createClient({ urls: 'http://127.0.0.1:9', patienceMs: 0 })
    // @ts-expect-error: nothing would give it the result of extract
    await expect(client.enqueue(transform, null)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(() => defineHandler({ name: 'x', needs: { extract: 'extract' as never } })).toThrow('a handler is needed')
  })
})

describe('a step over a list', () => {
  const find = defineHandler<null, null, { files: string[]; sizes: number[] }, { files: string[]; sizes: number[] }>({
    name: 'find',
  })
  const list = defineHandler<null, null, string[], string[]>({ name: 'list' })
  const load = defineHandler<string, string, number, number>({ name: 'load' })
  const sum = defineHandler<null, null, number, number, { load: (number | null)[] }>({
    ...{ name: 'sum', needs: { load: eachOf(load) } },
  })

  it('names the step and the way to its list', () => {
    const dag = defineDag({ key: 'imports' })
    const found = dag.step('find', find)
    const loaded = dag.each('load', load, { of: found, list: 'files', concurrency: 20, maxFailures: 5 })
    dag.step('sum', sum, { after: [loaded] })
    dag.graph('report', 'weekly', { after: [loaded], payload: { week: 1 } })
    expect(dag.build().steps.slice(1)).toEqual([
      {
        ...{ name: 'load', target: { pool: 'default', handler: 'load' }, dependsOn: ['find'] },
        ...{ forEach: 'results["find"]["files"]', concurrency: 20, maxFailures: 5 },
      },
      { name: 'sum', target: { pool: 'default', handler: 'sum' }, dependsOn: ['load'] },
      { name: 'report', target: { dag: 'weekly' }, dependsOn: ['load'], payload: { week: 1 } },
    ])
  })

  it('takes a result that is the list itself', () => {
    const dag = defineDag()
    const listed = dag.step('list', list)
    dag.each('load', load, { of: listed })
    expect(dag.build().steps[1]).toMatchObject({ forEach: 'results["list"]' })
  })

  it('does not compile with a list of something else', () => {
    const dag = defineDag({ key: 'imports' })
    const found = dag.step('find', find)
    // @ts-expect-error its items are numbers
    dag.each('load', load, { of: found, list: 'sizes' })
    // @ts-expect-error the result is no list
    dag.each('again', load, { of: found })
  })
})
