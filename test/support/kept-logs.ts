import type { Logger } from '../../packages/server/src/observability/logger.ts'

/** A logger that keeps its warnings, each with the message of its error. */
export function keptLogs(): { logger: Logger; warnings: string[] } {
  const warnings: string[] = []
  const warn = (details: object, text: string) => {
    const { err } = details as { err?: Error }
    warnings.push(err ? `${text}: ${err.message}` : text)
  }
  return { logger: { debug() {}, info() {}, warn, error: warn } as Logger, warnings }
}
