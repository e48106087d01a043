import { expect, test } from 'vitest'
import { handler, startRig } from './testing/rig.ts'
import { execution, ScriptedTransport } from './testing/scripted-transport.ts'
import type { ReportedOutcome } from './transport.ts'

/** A small generator with a seed, so that a failure can be run again. */
function randomFrom(seed: number): () => number {
  return () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return seed / 2 ** 32
  }
}

test.each([1, 2])('with faults everywhere every execution gets one outcome (seed %i)', async (seed) => {
  const random = randomFrom(seed)
  const transport = new ScriptedTransport()
  const told = new Map<string, ReportedOutcome>()
  const report = transport.report.bind(transport)
  let faults = 5
  transport.report = async (sent) => {
    for (const outcome of sent.outcomes) {
      const before = told.get(outcome.executionId)
      if (before !== undefined) expect(outcome).toEqual(before)
      told.set(outcome.executionId, outcome)
    }
    if (faults > 0 && random() < 0.3) {
      faults--
      if (random() < 0.5) transport.failReports = 1
      else transport.loseAnswers = 1
    }
    transport.failLeases = random() < 0.05 ? 1 : 0
    return report(sent)
  }
  let running = 0
  let most = 0
  const run = async () => {
    most = Math.max(most, ++running)
    try {
      const draw = random()
      if (draw < 0.3) return draw
      if (draw < 0.8) await new Promise(setImmediate)
      if (draw > 0.6) throw new Error('unlucky')
    } finally {
      running--
    }
  }
  await using rig = await startRig([handler(run, { concurrency: 7 })], { transport, prefetch: 5, reportEveryMs: 30 })
  const given = Array.from({ length: 1_000 }, () => execution({ announceStart: random() < 0.1 }))
  for (const one of given) {
    transport.offer(one)
    const key = { executionId: one.executionId, fence: one.fence }
    if (random() < 0.05) transport.cancellations.push({ ...key, reason: 'CANCELLED' })
    if (random() < 0.2) await new Promise(setImmediate)
  }
  await transport.until(() => transport.outcomes.size === given.length)
  await rig.worker.onIdle()
  expect(told.size).toBe(given.length)
  expect(most).toBeLessThanOrEqual(7)
  expect(running).toBe(0)
})
