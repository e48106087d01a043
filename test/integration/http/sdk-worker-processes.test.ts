/** What only a process can suffer, over HTTP: a blocked event loop, a node that stops under its workers. */
import { createClient } from '@carillon/sdk'
import { expect, it } from 'vitest'
import { Processes } from '../../cluster/processes.ts'
import { spend } from '../../cluster/remote-worker-process.ts'
import { quickTimes } from '../../support/carillon.ts'
import { httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

const wait = { waitMs: 25_000 }

it('a handler that blocks the event loop for four times the time to be lost keeps its lease and runs once', async () => {
  const workerLostMs = 1_500
  await using node = await httpNode({ engine: { ...quickTimes, workerLostMs } })
  await using client = createClient({ urls: node.url })
  await using processes = await Processes.open()
  await processes.worker('blocked', { urls: [node.url], slots: 2 })
  const blocking = { ms: 4 * workerLostMs, blocking: true }
  const handle = await client.enqueue(spend, blocking)
  // Another worker waits for whatever becomes free.
  await until(async () => (await processes.runs()).length === 1)
  await processes.worker('other', { urls: [node.url], slots: 2 })
  expect(await handle.ended(wait)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
  const runs = (await processes.runs()).filter(({ executionId }) => executionId === handle.executionId)
  expect(runs.map(({ what }) => what)).toEqual(['began', 'ended'])
  const next = await client.enqueue(spend, { ms: 1 })
  expect(await next.ended(wait)).toMatchObject({ state: 'SUCCEEDED' })
})

it('workers turn to another node when theirs stops, and what runs is reported there', async () => {
  await using node = await httpNode({ engine: quickTimes })
  const second = await node.another()
  await using client = createClient({ urls: second.url })
  await using processes = await Processes.open()
  const urls = [node.url, second.url]
  await Promise.all(['a', 'b', 'c'].map((name) => processes.worker(name, { urls, slots: 2 })))
  const handles = await client.enqueueMany(
    spend,
    Array.from({ length: 6 }, () => ({ ms: 1_000 })),
  )
  await until(async () => (await processes.runs()).length === 6)
  await node.node.stop()
  for (const handle of handles) expect(await handle.ended(wait)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
  const after = await client.enqueueMany(
    spend,
    Array.from({ length: 6 }, () => ({ ms: 1 })),
  )
  for (const handle of after) expect(await handle.ended(wait)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
})
