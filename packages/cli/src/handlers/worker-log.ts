import type { Logger } from '@carillon/sdk'
import type { Output } from '../output.ts'
import { printable } from '../table.ts'

/** What a worker or node has to say, one line each: what went wrong, with which handler and why. */
export function plainLog(out: Output, who: 'worker' | 'node'): Logger {
  const say = (fields: object, message: string) => {
    const { handler, executionId, attempt, error, err } = fields as Said
    const cause = error ?? err
    const what = handler === undefined ? '' : ` (${handler}, execution ${executionId}, attempt ${attempt})`
    const why = cause === undefined ? '' : `: ${cause.name ?? 'Error'}: ${cause.message}`
    out.note(printable(`${who}: ${message}${what}${why}`))
  }
  const quiet = () => {}
  return { debug: quiet, info: quiet, warn: say, error: say }
}

interface Said {
  handler?: string
  executionId?: string
  attempt?: number
  error?: { name?: string; message: string }
  err?: { name?: string; message: string }
}
