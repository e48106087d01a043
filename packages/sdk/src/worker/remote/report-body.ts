/**
 * A report as the body of a request. Results and progress are JSON text already and go in as they are, so nothing is
 * written twice.
 */
import type { HeldExecution, ReportedOutcome, WorkerReport } from '../transport.ts'

const longestRetryMs = 366 * 86_400_000

export function reportBody({ outcomes, began, progress, lines = [], held }: WorkerReport): string {
  const parts: string[] = []
  if (outcomes.length > 0) parts.push(`"outcomes":[${outcomes.map(outcomeText).join(',')}]`)
  if (began.length > 0) parts.push(`"began":${JSON.stringify(began)}`)
  if (progress.length > 0) parts.push(`"progress":[${progress.map(progressText).join(',')}]`)
  if (lines.length > 0) parts.push(`"lines":${JSON.stringify(lines)}`)
  if (held !== null) parts.push(`"held":${JSON.stringify(held)}`)
  return `{${parts.join(',')}}`
}

function outcomeText(outcome: ReportedOutcome): string {
  switch (outcome.outcome) {
    case 'SUCCEEDED': {
      const { result, ...rest } = outcome
      return withText(rest, 'result', result)
    }
    case 'FAILED': {
      const { progress, ...rest } = outcome
      if (rest.retryAfterMs !== undefined) rest.retryAfterMs = Math.min(rest.retryAfterMs, longestRetryMs)
      return withText(rest, 'progress', progress)
    }
    case 'TIMED_OUT':
    case 'HANDED_BACK': {
      const { progress, ...rest } = outcome
      return withText(rest, 'progress', progress)
    }
    default:
      return JSON.stringify(outcome)
  }
}

function progressText({ progress, ...key }: HeldExecution & { progress: string | null }): string {
  return withText(key, 'progress', progress ?? 'null')
}

/** The object as JSON with one more property, whose value is JSON text; null: without it. */
function withText(object: object, name: string, text: string | null | undefined): string {
  const json = JSON.stringify(object)
  return text === null || text === undefined ? json : `${json.slice(0, -1)},"${name}":${text}}`
}
