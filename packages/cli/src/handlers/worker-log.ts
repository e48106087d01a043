import type { Logger } from '@carillon/sdk'
import type { Output } from '../output.ts'
import { printable } from '../table.ts'

/** What a worker has to say, one line each. */
export function workerLog(out: Output): Logger {
  const say = (fields: Record<string, unknown>, message: string) => {
    const cause = fields.error instanceof Error ? `: ${fields.error.message}` : ''
    out.note(printable(`worker: ${message}${cause}`))
  }
  return { info: () => {}, warn: say, error: say }
}
