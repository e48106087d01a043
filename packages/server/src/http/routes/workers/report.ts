import { CarillonError, type HeldExecution } from '@carillon/contract'
import { api } from '@carillon/contract/api'
import type { ReportedLines, ReportedOutcome, WorkerReport } from '@carillon/sdk'
import { eventLoopYielder } from '../../../lib/event-loop-yielder.ts'
import { ok, route } from '../../route.ts'
import { boundedLines, outcomeOf, progressText } from './outcome.ts'
import { ownerOf } from './owner.ts'

export const reportExecutions = route(
  api.reportExecutions,
  async ({ params, body, caller }, { workerSessions, clock }) => {
    const workerId = params.workerId.toLowerCase()
    const owner = ownerOf(caller)
    const worker = await workerSessions.find(workerId, owner)
    const tooLarge: HeldExecution[] = []
    const now = clock.now()
    const yieldIfDue = eventLoopYielder()
    const outcomes: ReportedOutcome[] = []
    for (const said of body.outcomes ?? []) {
      const pause = yieldIfDue()
      if (pause) await pause
      outcomes.push(outcomeOf(said, now, tooLarge))
    }
    const progress: WorkerReport['progress'] = []
    for (const said of body.progress ?? []) {
      const pause = yieldIfDue()
      if (pause) await pause
      progress.push({ ...keyOf(said), progress: progressText(said, tooLarge) })
    }
    const lines: ReportedLines[] = []
    for (const said of body.lines ?? []) {
      const pause = yieldIfDue()
      if (pause) await pause
      lines.push({ ...keyOf(said), from: said.from, lines: boundedLines(said.lines, now) })
    }
    const began = (body.began ?? []).map(keyOf)
    // Without a known worker there is nothing to compare held executions with; the fences still decide about its outcomes.
    const held = worker ? (body.held?.map(keyOf) ?? null) : null
    const answer = await workerSessions.report({ workerId, outcomes, began, progress, lines, held }, owner)
    if (!worker) {
      throw new CarillonError('WORKER_UNKNOWN', {
        message: `the worker ${workerId} is not registered; its outcomes were still accepted where their fence holds`,
        hint: 'Register it with POST /v1/workers and the same workerId, then repeat the report',
      })
    }
    return ok(tooLarge.length > 0 ? { ...answer, tooLarge } : answer)
  },
)

function keyOf({ executionId, fence }: HeldExecution): HeldExecution {
  return { executionId: executionId.toLowerCase(), fence }
}
