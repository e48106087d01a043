/** Following what an execution logs: every line once, in order, from any node, until it has ended; and who may not. */
import type { LogEvent } from '@carillon/contract'
import { createClient } from '@carillon/sdk'
import { defineHandler } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serverSent } from '../../../packages/sdk/src/http/server-sent.ts'
import { LogFeed } from '../../../packages/server/src/executions/log-feed.ts'
import { quickTimes, testCarillon } from '../../support/carillon.ts'
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

async function begun(): Promise<Held> {
  await ledger.enqueue()
  return keyOf((await worker.lease()).body.executions[0])
}

const log = (held: Held, from: number, ...texts: string[]) =>
  worker.report({ lines: [{ ...held, from, lines: texts.map((text) => ({ text })) }] })

/** What comes, in short. */
const shown = (event: LogEvent) =>
  event.type === 'line'
    ? `${event.position} ${event.text}`
    : event.type === 'end'
      ? event.state
      : JSON.stringify(event.progress)

async function take(events: AsyncIterator<LogEvent>, count: number): Promise<string[]> {
  const taken: string[] = []
  while (taken.length < count) {
    const { done, value } = await events.next()
    if (done) break
    taken.push(shown(value))
  }
  return taken
}

describe('following an execution', () => {
  it('brings its lines and progress as they come, at whichever node, and ends with its state', async () => {
    const second = await node.another()
    await using client = createClient({ urls: second.url })
    const held = await begun()
    await log(held, 0, 'one', 'two')
    const events = client.follow(held.executionId)
    expect(await take(events, 2)).toEqual(['1 one', '2 two'])
    await log(held, 2, 'three')
    expect(await take(events, 1)).toEqual(['3 three'])
    await worker.report({ progress: [{ ...held, progress: { rows: 5 } }] })
    expect(await take(events, 1)).toEqual(['{"rows":5}'])
    await worker.report({ outcomes: [{ ...held, outcome: 'SUCCEEDED', log: ['one', 'two', 'three', 'four'] }] })
    expect(await take(events, 9)).toEqual(['4 four', 'SUCCEEDED'])
  })

  it('goes on after the line that is known, and starts over where there is no such line', async () => {
    await using client = createClient({ urls: node.url })
    const held = await begun()
    await log(held, 0, 'one', 'two', 'three')
    await worker.report({ outcomes: [{ ...held, outcome: 'CANCELLED' }] })
    const from = async (after: number) => take(client.follow(held.executionId, { after }), 9)
    expect(await from(2)).toEqual(['3 three', 'CANCELLED'])
    expect(await from(3)).toEqual(['CANCELLED'])
    expect(await from(4_000)).toEqual(['1 one', '2 two', '3 three', 'CANCELLED'])
  })

  it('reconnects when its node stops, and misses nothing', async () => {
    const second = await node.another()
    await using client = createClient({ urls: [second.url, node.url] })
    const held = await begun()
    await log(held, 0, 'one')
    const events = client.follow(held.executionId)
    expect(await take(events, 1)).toEqual(['1 one'])
    await second.stop()
    await log(held, 1, 'two')
    expect(await take(events, 1)).toEqual(['2 two'])
    await worker.succeed(held)
    expect(await take(events, 2)).toEqual(['SUCCEEDED'])
  })

  it('is a stream that browsers understand', async () => {
    const held = await begun()
    await log(held, 0, 'one')
    await worker.succeed(held)
    const answer = await fetch(`${node.url}/v1/executions/${held.executionId}/logs?follow=true`)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const messages = []
    for await (const message of serverSent(answer.body!)) messages.push(message)
    expect(messages).toEqual([
      { id: '1', event: 'line', data: expect.stringMatching(/^\{"at":".+Z","attempt":1,"text":"one"\}$/) },
      { id: null, event: 'end', data: '{"state":"SUCCEEDED"}' },
    ])
  })

  it('is refused of an execution that is not there or is another tenant’s, and to one follower too many', async () => {
    const [foreign] = await ledger.enqueue({ tenant: 'acme' })
    for (const id of [foreign!, '0195d3c4-7a70-7000-8000-000000000001']) {
      const { status, body } = await node.ask(`GET /v1/executions/${id}/logs?follow=true`)
      expect([status, body.code]).toEqual([404, 'EXECUTION_NOT_FOUND'])
    }
    const feed = new LogFeed({ ...unused, most: 3, mostOfTenant: 2 })
    const gone = new AbortController()
    const follow = (tenant: string) => feed.follow({ tenant, executionId: 'e', after: 0, signal: gone.signal })
    follow('a')
    follow('a')
    expect(() => follow('a')).toThrow(/2 streams of log lines of this tenant/)
    follow('b')
    expect(() => follow('b')).toThrow(/3 streams of log lines are open/)
    gone.abort()
    expect(feed.open).toBe(0)
  })
})

const unused = { database: null as never, signals: null as never, logger: null as never }

it('a program that has the node inside follows by its handle, and lines are there while the handler runs', async () => {
  const talk = defineHandler({ name: 'talk' })
  const read = Promise.withResolvers<void>()
  await using test = await testCarillon((carillon) => {
    carillon.handle(talk, async (ctx) => {
      ctx.log('before')
      ctx.heartbeat({ half: true })
      await read.promise
      ctx.log('after')
    })
  })
  const handle = await test.carillon.enqueue(talk, null)
  const seen: string[] = []
  for await (const event of handle.follow()) {
    seen.push(shown(event))
    if (seen.length === 2) read.resolve()
  }
  expect(seen.slice(0, 2).sort()).toEqual(['1 before', '{"half":true}'])
  expect(seen.slice(2)).toEqual(['2 after', 'SUCCEEDED'])
})
