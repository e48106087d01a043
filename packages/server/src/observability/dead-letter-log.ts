/** Logs dead letters at the node that ended them. Of many at once the first are named and the rest counted. */
import type { Logger } from './logger.ts'

const mostNamed = 20

interface DeadLetter {
  executionId: string
  reason: string | null
  error: { name: string; message: string } | null
}

export function deadLetterLog(logger: Logger): (letters: readonly DeadLetter[]) => void {
  return (letters) => {
    for (const { executionId, reason, error } of letters.slice(0, mostNamed)) {
      const cause = error && { error: { name: error.name, message: error.message } }
      logger.info({ executionId, reason, ...cause }, 'an execution is a dead letter')
    }
    const rest = letters.length - mostNamed
    if (rest > 0) logger.info({ executions: rest }, 'more executions are dead letters')
  }
}
