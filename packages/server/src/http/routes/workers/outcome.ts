/**
 * From what a worker says over the network to what WorkerSessions takes. Results and progress become text, errors and logs are
 * brought to the size and the characters that can be kept, just as the SDK does it in the worker.
 *
 * What must stay true: whatever a handler returned or threw, its outcome is taken and no other outcome of the same report
 * suffers. A result that cannot be kept makes its execution FAILED for good; progress that cannot is left out.
 */
import { CarillonError, type HeldExecution, type OutcomeInput } from '@carillon/contract'
import { encodeJson, LogLines, type ReportedLines, type ReportedOutcome, reportedError } from '@carillon/sdk'

export function outcomeOf(said: OutcomeInput, now: number, tooLarge: HeldExecution[]): ReportedOutcome {
  const base = {
    executionId: said.executionId.toLowerCase(),
    fence: said.fence,
    startedAt: said.startedAt ?? null,
    finishedAt: said.finishedAt ?? now,
    ...(said.log?.length && { log: bounded(said.log) }),
  }
  switch (said.outcome) {
    case 'SUCCEEDED': {
      const result = jsonText(said.result, 'result')
      if (!(result instanceof CarillonError)) return { ...base, outcome: 'SUCCEEDED', result }
      const error = { name: result.code, message: result.message }
      return { ...base, outcome: 'FAILED', error, permanent: true }
    }
    case 'FAILED': {
      const { retryAfterMs, permanent } = said
      const directives = { ...(retryAfterMs !== undefined && { retryAfterMs }), ...(permanent && { permanent }) }
      const progress = progressText(said, tooLarge)
      return { ...base, outcome: 'FAILED', error: reportedError(said.error), ...directives, progress }
    }
    case 'TIMED_OUT': {
      const error = said.error ?? { name: 'TimedOut', message: 'the worker ended it: it ran for too long' }
      return { ...base, outcome: 'TIMED_OUT', error: reportedError(error), progress: progressText(said, tooLarge) }
    }
    case 'CANCELLED':
      return { ...base, outcome: 'CANCELLED', ...(said.error && { error: reportedError(said.error) }) }
    case 'HANDED_BACK': {
      const { reason = 'SHUTDOWN' } = said
      // Who does not say that the handler never began is taken to have begun: AT_MOST_ONCE depends on it.
      const startedAt = said.startedAt === undefined && reason === 'SHUTDOWN' ? now : base.startedAt
      return { ...base, startedAt, outcome: 'HANDED_BACK', reason, progress: progressText(said, tooLarge) }
    }
    default:
      return { ...base, outcome: said.outcome }
  }
}

/** Null: nothing new, or nothing that can be kept; then it is noted in `tooLarge`. */
export function progressText(said: HeldExecution & { progress?: unknown }, tooLarge: HeldExecution[]): string | null {
  const text = jsonText(said.progress, 'progress')
  if (!(text instanceof CarillonError)) return text
  tooLarge.push({ executionId: said.executionId.toLowerCase(), fence: said.fence })
  return null
}

/** Or why it cannot be kept. */
function jsonText(value: unknown, kind: 'result' | 'progress'): string | null | CarillonError {
  if (value === undefined || value === null) return null
  try {
    return encodeJson(value, kind)
  } catch (error) {
    if (error instanceof CarillonError) return error
    throw error
  }
}

export function boundedLines(said: ReportedLines['lines'], now: number): ReportedLines['lines'] {
  const log = new LogLines()
  for (const { at = now, text } of said) log.add(text, at)
  return log.lines.map((text, at) => ({ at: log.times[at]!, text }))
}

function bounded(log: string[]): string[] {
  const lines = new LogLines()
  for (const line of log) lines.add(line)
  return lines.lines
}
