/** Log lines that are sent while their handler runs. */
import { CarillonError } from '@carillon/contract'
import { describe, expect, test } from 'vitest'
import type { HandlerContext } from '../running/context.ts'
import { startRig } from '../testing/rig.ts'
import { execution, ScriptedTransport } from '../testing/scripted-transport.ts'

function quick(): ScriptedTransport {
  const transport = new ScriptedTransport()
  transport.logEveryMs = 5
  return transport
}

const sentIn = ({ reports }: ScriptedTransport) =>
  reports.flatMap(({ lines = [] }) => lines.map(({ from, lines: said }) => [from, ...said.map(({ text }) => text)]))

/** A handler that logs what it is told, until it is let go. */
function talker() {
  const started = Promise.withResolvers<HandlerContext>()
  const end = Promise.withResolvers<void>()
  const run = async (ctx: HandlerContext) => {
    started.resolve(ctx)
    await end.promise
  }
  return { run, started: started.promise, end: () => end.resolve() }
}

describe('log lines', () => {
  test('come while the handler runs, each once, with their number and time; the outcome has them all', async () => {
    const talk = talker()
    await using rig = await startRig(talk.run, { transport: quick() })
    const { transport } = rig
    const one = execution()
    transport.offer(one)
    const ctx = await talk.started
    ctx.log('one')
    ctx.log('two\nthree')
    await transport.until(() => sentIn(transport).length === 1)
    ctx.log('four')
    await transport.until(() => sentIn(transport).length === 2)
    ctx.log('five')
    talk.end()
    expect(await transport.outcomeOf(one)).toMatchObject({ log: ['one', 'two', 'three', 'four', 'five'] })
    await rig.worker.onIdle()
    expect(sentIn(transport)).toEqual([
      [0, 'one', 'two', 'three'],
      [3, 'four'],
    ])
    const [first] = transport.reports.flatMap(({ lines = [] }) => lines)
    expect(first!.lines[0]!.at).toBeGreaterThan(1.7e12)
  })

  test('of what ends sooner go with the outcome alone', async () => {
    const transport = new ScriptedTransport()
    await using rig = await startRig(async (ctx) => ctx.log('quick'), { transport })
    const given = Array.from({ length: 20 }, () => execution())
    transport.offer(...given)
    for (const each of given) expect(await transport.outcomeOf(each)).toMatchObject({ log: ['quick'] })
    await rig.worker.onIdle()
    expect(sentIn(transport)).toEqual([])
  })

  test('go with the outcome alone to a node that does not ask for them', async () => {
    const transport = new ScriptedTransport()
    transport.logEveryMs = undefined
    const talk = talker()
    await using rig = await startRig(talk.run, { transport, reportEveryMs: 5 })
    const one = execution()
    transport.offer(one)
    ;(await talk.started).log('one')
    const before = transport.reports.length
    await transport.until(() => transport.reports.length > before + 3)
    talk.end()
    expect(await transport.outcomeOf(one)).toMatchObject({ log: ['one'] })
    await rig.worker.onIdle()
    expect(sentIn(transport)).toEqual([])
  })

  test('whose answer is lost, or which were not taken, are sent again from the same number', async () => {
    const talk = talker()
    const transport = quick()
    await using rig = await startRig(talk.run, { transport })
    const report = transport.report.bind(transport)
    const answers: (() => (number | null)[])[] = [
      () => {
        throw new Error('the answer was lost')
      },
      () => [null],
      () => [1],
    ]
    transport.report = async (said) => {
      const answer = await report(said)
      const next = said.lines === undefined ? undefined : answers.shift()
      return next === undefined ? answer : { ...answer, lines: next() }
    }
    transport.offer(execution())
    const ctx = await talk.started
    ctx.log('one')
    ctx.log('two')
    await transport.until(() => sentIn(transport).length === 4)
    expect(sentIn(transport)).toEqual([...Array(3).fill([0, 'one', 'two']), [1, 'two']])
    talk.end()
    await rig.worker.onIdle()
  })

  test('that a node refuses, as one of an earlier version does, cost no outcome', async () => {
    const talk = talker()
    const transport = quick()
    await using rig = await startRig(talk.run, { transport })
    const report = transport.report.bind(transport)
    let refused = 0
    transport.report = async (said) => {
      if (said.lines === undefined) return report(said)
      refused++
      throw new CarillonError('VALIDATION', { pointer: '/lines', message: 'lines is not known' })
    }
    const one = execution()
    transport.offer(one)
    ;(await talk.started).log('one')
    await transport.until(() => transport.reports.length > 0)
    expect(refused).toBe(1)
    talk.end()
    expect(await transport.outcomeOf(one)).toMatchObject({ outcome: 'SUCCEEDED', log: ['one'] })
    await rig.worker.onIdle()
    expect(refused).toBe(1)
  })
})
