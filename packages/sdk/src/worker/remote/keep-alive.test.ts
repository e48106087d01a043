import { setTimeout as delay } from 'node:timers/promises'
import { silentLogger } from '@carillon/contract/process'
import { expect, test, vi } from 'vitest'
import { execution } from '../testing/scripted-transport.ts'
import { HttpTransport } from './http-transport.ts'
import { type ScriptedNode, scriptedNode } from './testing/scripted-node.ts'

const workerId = '0190f5a0-0000-7000-8000-000000000001'
const announcement = { workerId, name: 'w', pools: [{ pool: 'default', handlers: ['test'], slots: 1 }] }
const nothing = { workerId, outcomes: [], began: [], progress: [], held: [] }
const lease = { workerId, pool: 'default', slots: 1, prefetch: 0, waitMs: 0 }

async function transportTo(node: ScriptedNode, token?: () => string) {
  const transport = new HttpTransport({ urls: node.url, logger: silentLogger, ...(token && { token }) })
  node.heartbeatEveryMs = 40
  await transport.register(announcement)
  return Object.assign(transport, { [Symbol.asyncDispose]: () => transport.close() })
}

const beats = (node: ScriptedNode) => node.bodies('report').filter((body) => body === '{}').length

test('speaks for a main thread that does not report, with the newest token, and never says what is held', async () => {
  await using node = await scriptedNode()
  node.tokens = new Set(['t1', 't2'])
  let token = 't1'
  await using transport = await transportTo(node, () => token)
  node.transport.offer(execution({ timeoutSec: 60 }))
  await transport.lease(lease, new AbortController().signal)
  await vi.waitFor(() => expect(beats(node)).toBeGreaterThan(2), 10_000)
  token = 't2'
  await transport.report(nothing)
  node.tokens = new Set(['t2'])
  const before = node.transport.reports.length
  await vi.waitFor(() => expect(node.transport.reports.length).toBeGreaterThan(before), 10_000)
  expect(node.transport.reports.at(-1)).toMatchObject({ held: null, outcomes: [] })
})

test('announces the worker again where nobody knows it', async () => {
  await using node = await scriptedNode()
  await using transport = await transportTo(node)
  node.transport.offer(execution({ timeoutSec: 60 }))
  await transport.lease(lease, new AbortController().signal)
  node.known.clear()
  await vi.waitFor(() => expect(node.known.size).toBe(1), 10_000)
})

test('is silent while the main thread reports', async () => {
  await using node = await scriptedNode()
  await using transport = await transportTo(node)
  node.transport.offer(execution({ timeoutSec: 60 }))
  await transport.lease(lease, new AbortController().signal)
  await vi.waitFor(() => expect(beats(node)).toBeGreaterThan(0), 10_000)
  // However slow the machine: between two looks of the thread a report was answered.
  let loud = 0
  for (let n = 0; n < 40; n++) {
    const before = beats(node)
    await transport.report(nothing)
    await delay(5)
    loud += beats(node) - before
  }
  expect(loud).toBeLessThan(5)
})

test('does not speak for longer than anything that was leased may run', async () => {
  await using node = await scriptedNode()
  await using transport = await transportTo(node)
  node.transport.offer(execution({ timeoutSec: 0.2 }))
  await transport.lease(lease, new AbortController().signal)
  await vi.waitFor(() => expect(beats(node)).toBeGreaterThan(0), 10_000)
  await vi.waitFor(
    async () => {
      const before = beats(node)
      await delay(200)
      expect(beats(node)).toBe(before)
    },
    { timeout: 10_000 },
  )
})

test('ends with the worker', async () => {
  await using node = await scriptedNode()
  await using transport = await transportTo(node)
  node.transport.offer(execution({ timeoutSec: 60 }))
  await transport.lease(lease, new AbortController().signal)
  await transport.deregister(workerId)
  const before = node.server.seen.length
  await delay(150)
  expect(node.server.seen.length).toBe(before)
  expect(node.known.size).toBe(0)
})
