/** A worker that is killed in mid-run: what its handler logged is there, up to the last seconds, and its next attempt adds its own. */
import { createClient } from '@carillon/sdk'
import { expect, it } from 'vitest'
import { Processes } from '../../cluster/processes.ts'
import { spend } from '../../cluster/remote-worker-process.ts'
import { quickTimes } from '../../support/carillon.ts'
import { httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

it('the lines of a worker that is killed with -9 stay, each once, and those of the next attempt come after them', async () => {
  await using node = await httpNode({
    engine: { ...quickTimes, leaseMs: 2_000, statementTimeoutMs: 1_800, heartbeatEveryMs: 500, workerLostMs: 3_000 },
  })
  await using client = createClient({ urls: node.url })
  await using processes = await Processes.open()
  const doomed = await processes.worker('doomed', { urls: [node.url], slots: 1 })
  const { executionId } = await client.enqueue(
    spend,
    { ms: 600_000, lines: true },
    { retryPolicy: { maxAttempts: 2, initialDelayMs: 0, jitter: 0 } },
  )
  const linesOf = async (attempt: number) =>
    (await client.executions.logs(executionId)).lines.filter((line) => line.attempt === attempt)
  await until(async () => (await linesOf(1)).length >= 10, 30_000)
  const before = await linesOf(1)
  doomed.kill('SIGKILL')
  await processes.worker('next', { urls: [node.url], slots: 1 })
  await until(async () => (await linesOf(2)).length > 0, 60_000)
  const first = await linesOf(1)
  // What was there when it was killed is there, and perhaps what was on its way.
  expect(first.slice(0, before.length)).toEqual(before)
  expect(first.map(({ text }) => Number(text.split(' ')[1]))).toEqual(first.map((_, at) => at))
  const { lines } = await client.executions.logs(executionId)
  expect(lines.map(({ attempt }) => attempt)).toEqual([
    ...first.map(() => 1),
    ...lines.slice(first.length).map(() => 2),
  ])
  expect((await client.execution(executionId))!.progress).toMatchObject({ number: expect.any(Number) })
  await client.cancel(executionId)
}, 120_000)
