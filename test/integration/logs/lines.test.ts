/** Log lines that come before the outcome: each is there once, under its attempt, within bounds, and only from whoever holds the execution. */
import type { LogLine } from '@carillon/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { HandWorker, type Held, keyOf, Ledger } from '../http/hand-worker.ts'

let node: HttpNode
let ledger: Ledger
let worker: HandWorker

beforeAll(async () => {
  const patient = { leaseMs: 2_000, statementTimeoutMs: 1_800, heartbeatEveryMs: 1_000, workerLostMs: 30_000 }
  node = await httpNode({ engine: { ...quickTimes, ...patient } })
  ledger = new Ledger(node)
  worker = await HandWorker.register(node.url)
})
afterAll(async () => {
  await ledger[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
})

const cutNote = '[the log was cut here: an attempt keeps 1,000 lines and 64 KiB]'
const retried = { retryPolicy: { maxAttempts: 100, initialDelayMs: 0, maxDelayMs: 1, jitter: 0 } }

async function leased(): Promise<Held> {
  const [held] = (await worker.lease()).body.executions
  return keyOf(held)
}

async function begun(policy: object | null = null): Promise<Held> {
  await ledger.enqueue({ policy })
  return leased()
}

const said = (held: Held, from: number, ...texts: string[]) => ({
  ...keyOf(held),
  from,
  lines: texts.map((text, at) => ({ at: 1_800_000_000_000 + from + at, text })),
})

async function send(...lines: object[]): Promise<(number | null)[]> {
  return sendBy(worker, ...lines)
}

async function sendBy(by: HandWorker, ...lines: object[]): Promise<(number | null)[]> {
  const answer = await by.report({ lines })
  fitsContract('reportExecutions', answer)
  return answer.body.lines
}

async function logOf({ executionId }: Held): Promise<{ lines: LogLine[]; dropped: number }> {
  const answer = await node.ask(`GET /v1/executions/${executionId}/logs`)
  fitsContract('getExecutionLogs', answer)
  return answer.body
}

const textsOf = async (held: Held) => (await logOf(held)).lines.map(({ attempt, text }) => `${attempt} ${text}`)

const fail = (held: Held, log: string[]) =>
  worker.report({ outcomes: [{ ...held, outcome: 'FAILED', error: { name: 'E', message: 'e' }, log }] })

describe('lines', () => {
  it('are there while the handler runs, and are not doubled by the outcome', async () => {
    const held = await begun()
    expect(await send(said(held, 0, 'one', ''))).toEqual([2])
    expect((await logOf(held)).lines).toEqual([
      { at: '2027-01-15T08:00:00.000Z', attempt: 1, text: 'one' },
      { at: '2027-01-15T08:00:00.001Z', attempt: 1, text: '' },
    ])
    expect(await send(said(held, 2, 'three'))).toEqual([3])
    const outcome = { ...held, outcome: 'SUCCEEDED', log: ['one', '', 'three', 'four'] }
    expect((await worker.report({ outcomes: [outcome] })).body.outcomes).toEqual(['ACCEPTED'])
    expect((await worker.report({ outcomes: [outcome] })).body.outcomes).toEqual(['ACCEPTED'])
    expect(await textsOf(held)).toEqual(['1 one', '1 ', '1 three', '1 four'])
  })

  it('that come again, overlap or leave a gap are written once and in order', async () => {
    const held = await begun()
    await send(said(held, 0, 'one', 'two'))
    expect(await send(said(held, 0, 'one', 'two'))).toEqual([2])
    expect(await send(said(held, 1, 'two', 'three'))).toEqual([3])
    // A gap is not taken; the answer says from where to go on.
    expect(await send(said(held, 4, 'five'))).toEqual([3])
    expect(await send(said(held, 3, 'four'), said(held, 4, 'five'))).toEqual([4, null])
    await worker.succeed(held)
    expect(await textsOf(held)).toEqual(['1 one', '1 two', '1 three', '1 four'])
  })

  it('of a lease that is another’s, or was never, are refused', async () => {
    const held = await begun(retried)
    await send(said(held, 0, 'first'))
    await fail(held, ['first'])
    const next = await leased()
    expect(next.executionId).toBe(held.executionId)
    expect(await send(said(held, 1, 'stale'))).toEqual([null])
    expect(await send(said({ ...next, fence: next.fence + 1 }, 0, 'forged'))).toEqual([null])
    await worker.succeed(next)
    expect(await send(said(next, 0, 'after the end'))).toEqual([null])
    expect(await textsOf(held)).toEqual(['1 first'])
  })

  it('of each attempt are kept apart, also of one that was handed back', async () => {
    const held = await begun(retried)
    await send(said(held, 0, 'a'))
    await fail(held, ['a', 'b'])
    const second = await leased()
    await send(said(second, 0, 'c'))
    await worker.report({ outcomes: [{ ...second, outcome: 'HANDED_BACK', log: ['c', 'd'] }] })
    const again = await leased()
    await worker.report({ outcomes: [{ ...again, outcome: 'SUCCEEDED', log: ['e'] }] })
    expect(await textsOf(held)).toEqual(['1 a', '1 b', '2 c', '2 d', '2 e'])
  })

  it('end at 1,000 and at 64 KiB of an attempt with a note, whoever counts', async () => {
    const many = await begun()
    const all = Array.from({ length: 1_200 }, (_, at) => `line ${at}`)
    expect(await send(said(many, 0, ...all.slice(0, 900)))).toEqual([900])
    await send(said(many, 900, ...all.slice(900)))
    await send(said(many, 1_200, 'later'))
    await worker.report({ outcomes: [{ ...many, outcome: 'SUCCEEDED', log: all }] })
    const { lines } = await logOf(many)
    expect(lines.map(({ text }) => text)).toEqual([...all.slice(0, 1_000), cutNote])

    const long = await begun()
    const wide = Array.from({ length: 10 }, () => 'é'.repeat(5_000))
    await send(said(long, 0, ...wide.slice(0, 5)))
    await send(said(long, 5, ...wide.slice(5)))
    await worker.report({ outcomes: [{ ...long, outcome: 'SUCCEEDED', log: wide }] })
    const kept = (await logOf(long)).lines.map(({ text }) => text)
    expect(kept).toEqual([...wide.slice(0, 7), cutNote])
  })

  it('of many attempts: the latest 256 KiB are kept, and what is not is counted', async () => {
    let held = await begun(retried)
    const wide = ['x'.repeat(30_000), 'y'.repeat(30_000)]
    for (let attempt = 1; attempt <= 8; attempt++) {
      await send(said(held, 0, wide[0]!))
      await fail(held, wide)
      held = await leased()
    }
    const { lines, dropped } = await logOf(held)
    expect(lines.reduce((bytes, { text }) => bytes + text.length, 0)).toBeLessThan(300_000)
    expect(lines.at(-1)).toMatchObject({ attempt: 8, text: wide[1] })
    expect([dropped > 0, dropped + lines.length]).toEqual([true, 16])
    await worker.succeed(held)
  })

  it('beyond a mebibyte a second of one worker come with the outcome', async () => {
    const wide = Array.from({ length: 60 }, () => 'x'.repeat(1_000))
    await ledger.enqueue({ times: 60 })
    const all: Held[] = []
    while (all.length < 60) all.push(...(await worker.lease({ slots: 60 })).body.executions.map(keyOf))
    // What it has spent, others have not.
    const greedy = await HandWorker.register(node.url, { pools: ['greedy'] })
    const taken = await sendBy(greedy, ...all.map((held) => said(held, 0, ...wide)))
    const late = all[taken.lastIndexOf(null)]!
    expect(taken[0]).toBe(60)
    expect(await textsOf(late)).toEqual([])
    await worker.report({ outcomes: all.map((held) => ({ ...held, outcome: 'SUCCEEDED', log: wide })) })
    expect(await textsOf(late)).toHaveLength(60)
  })

  it('that cannot be right are refused with a reason', async () => {
    const held = await begun()
    const { status, body } = await worker.report({ lines: [said(held, 0, 'two\nlines')] })
    expect([status, body.code, body.errors[0].pointer]).toEqual([422, 'VALIDATION', '/lines/0/lines/0/text'])
    const odd = ['a\u0000b', '\ud800', '"\\u0000"']
    expect(await send(said(held, 0, ...odd))).toEqual([3])
    expect(await textsOf(held)).toEqual(['1 a\ufffdb', '1 \ufffd', '1 "\\u0000"'])
    await worker.succeed(held)
  })
})
