import { describe, expect, test } from 'vitest'
import { handler, startRig, Tally } from '../testing/rig.ts'
import { execution, ScriptedTransport } from '../testing/scripted-transport.ts'
import type { WorkerReport } from '../transport.ts'

const idsOf = (entries: { executionId: string }[]) => entries.map(({ executionId }) => executionId)
const outcomeIds = (reports: WorkerReport[]) => reports.map(({ outcomes }) => idsOf(outcomes))

describe('a report', () => {
  test('that fails or whose answer is lost is repeated with the same outcomes until it is answered', async () => {
    const transport = new ScriptedTransport()
    transport.failReports = 2
    transport.loseAnswers = 1
    await using rig = await startRig(async () => {}, { transport })
    const given = [execution(), execution(), execution()]
    transport.offer(...given)
    await transport.until(() => transport.outcomes.size === 3)
    const late = execution()
    transport.offer(late)
    await transport.outcomeOf(late)
    await rig.worker.onIdle()
    const tried = outcomeIds(transport.reports).filter((ids) => ids.length > 0)
    expect(tried).toEqual([...Array(4).fill(idsOf(given)), [late.executionId]])
    expect(transport.reports[1]!.outcomes).toEqual(transport.reports[0]!.outcomes)
  })

  test('under way is the only one, and what comes meanwhile goes with the next', async () => {
    const transport = new ScriptedTransport()
    const answer = Promise.withResolvers<void>()
    const report = transport.report.bind(transport)
    let underWay = 0
    let most = 0
    transport.report = async (sent) => {
      most = Math.max(most, ++underWay)
      try {
        const first = transport.reports.length === 0
        const answered = await report(sent)
        if (first) await answer.promise
        return answered
      } finally {
        underWay--
      }
    }
    await using rig = await startRig(async () => {}, { transport })
    const first = execution()
    transport.offer(first)
    await transport.outcomeOf(first)
    const rest = Array.from({ length: 50 }, () => execution())
    transport.offer(...rest)
    await transport.until(() => transport.waitingLeases === 1)
    answer.resolve()
    await rig.worker.onIdle()
    expect(most).toBe(1)
    expect(outcomeIds(transport.reports)).toEqual([[first.executionId], idsOf(rest)])
  })

  test('is also the heartbeat and names everything held that it does not end', async () => {
    const gate = Promise.withResolvers<void>()
    await using rig = await startRig([handler(() => gate.promise, { concurrency: 1 })], {
      prefetch: 1,
      reportEveryMs: 20,
    })
    const { transport } = rig
    await transport.until(() => transport.reports.some(({ held }) => held?.length === 0))
    const running = execution()
    const prefetched = execution()
    transport.offer(running, prefetched)
    await transport.until(() => transport.reports.some(({ held }) => held?.length === 2))
    expect(transport.reports.at(-1)!.held).toEqual(
      [running, prefetched].map(({ executionId, fence }) => ({ executionId, fence })),
    )
    gate.resolve()
    await transport.outcomeOf(prefetched)
  })

  test('does not name as held what it ends, nor anything ended before', async () => {
    const transport = new ScriptedTransport()
    const report = transport.report.bind(transport)
    // Every answer takes longer than the heartbeat, so that each report is both.
    transport.report = async (sent) => {
      const answer = await report(sent)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return answer
    }
    await using rig = await startRig(async () => {}, { transport, reportEveryMs: 1, prefetch: 5 })
    transport.offer(...Array.from({ length: 200 }, () => execution()))
    await transport.until(() => transport.outcomes.size === 200)
    await rig.worker.onIdle()
    expect(transport.reports.some(({ outcomes, held }) => outcomes.length > 0 && held !== null)).toBe(true)
    const ended = new Set<string>()
    for (const { outcomes, held } of transport.reports) {
      for (const { executionId } of outcomes) ended.add(executionId)
      for (const { executionId } of held ?? []) expect(ended.has(executionId)).toBe(false)
    }
  })

  test('brings the newest progress, and a failed attempt leaves it for the next', async () => {
    const sent = Promise.withResolvers<void>()
    await using rig = await startRig(async (ctx) => {
      ctx.heartbeat({ page: 1 })
      ctx.heartbeat({ page: 2 })
      await sent.promise
      ctx.heartbeat({ page: 3 })
      throw new Error('half-way')
    })
    const given = execution()
    rig.transport.offer(given)
    await rig.transport.until(() => rig.transport.reports.some(({ progress }) => progress.length > 0))
    const { executionId, fence } = given
    expect(rig.transport.reports.at(-1)!.progress).toEqual([{ executionId, fence, progress: '{"page":2}' }])
    sent.resolve()
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'FAILED', progress: '{"page":3}' })
  })

  test('with a progress that is not JSON is refused inside the handler', async () => {
    await using rig = await startRig(async (ctx) => ctx.heartbeat({ n: 1n }))
    const given = execution()
    rig.transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'FAILED', error: { name: 'CarillonError' } })
  })
})

describe('a start', () => {
  test('of one taken beyond the slots is told when it is still running after a moment', async () => {
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const run = (ctx: { executionId: string; payload: unknown }) => {
      begun.push(ctx.executionId)
      return ctx.payload === 'slow' ? gate.promise : undefined
    }
    await using rig = await startRig([handler(run, { concurrency: 1 })], { prefetch: 3 })
    const quick = execution()
    const alsoQuick = execution()
    const slow = execution({ payload: 'slow' })
    rig.transport.offer(quick, alsoQuick, slow)
    await rig.transport.until(() => rig.transport.reports.some(({ began }) => began.length > 0))
    const told = rig.transport.reports.flatMap(({ began }) => idsOf(began))
    expect(told).toEqual([slow.executionId])
    gate.resolve()
    await rig.transport.outcomeOf(slow)
  })

  test('that must be announced waits for the answer, and a refused one does not happen', async () => {
    const begun: string[] = []
    const transport = new ScriptedTransport()
    transport.failReports = 1
    await using rig = await startRig(async (ctx) => void begun.push(ctx.executionId), { transport })
    const granted = execution({ announceStart: true })
    const refused = execution({ announceStart: true })
    transport.refusedFences.add(refused.fence)
    transport.offer(granted, refused)
    await transport.until(() => transport.reports.length === 1)
    expect(begun).toEqual([])
    expect(await transport.outcomeOf(granted)).toMatchObject({ outcome: 'SUCCEEDED' })
    await rig.worker.onIdle()
    expect(begun).toEqual([granted.executionId])
    expect(transport.outcomes.has(refused.executionId)).toBe(false)
  })
})

describe('leasing', () => {
  test('goes on after errors, announcing the worker again', async () => {
    const transport = new ScriptedTransport()
    transport.failRegisters = 1
    transport.failLeases = 2
    await using rig = await startRig(async () => 'ok', { transport })
    const given = execution()
    transport.offer(given)
    expect(await rig.transport.outcomeOf(given)).toMatchObject({ outcome: 'SUCCEEDED' })
    expect(transport.announcements.length).toBeGreaterThan(1)
  })

  test('rests while reports fail', async () => {
    const transport = new ScriptedTransport()
    await using rig = await startRig(async () => {}, { transport, leaseWaitMs: 5 })
    await transport.until(() => transport.waitingLeases === 1)
    transport.failReports = 4
    transport.offer(execution())
    await transport.until(() => transport.reports.length === 2)
    const asked = transport.leases.length
    await transport.until(() => transport.reports.length === 5)
    expect(transport.leases.length).toBe(asked)
    await rig.worker.onIdle()
    await transport.until(() => transport.waitingLeases === 1)
  })

  test('an execution that comes twice under one fence runs once', async () => {
    const gate = Promise.withResolvers<void>()
    const runs = new Tally()
    await using rig = await startRig((ctx) => {
      runs.add(ctx.executionId)
      return gate.promise
    })
    const given = execution()
    const other = execution()
    rig.transport.offer(given, given, other)
    await runs.reached(2)
    gate.resolve()
    await rig.worker.onIdle()
    expect(runs.names).toEqual([given.executionId, other.executionId])
  })
})
