/** Structured logs. Anything that is a Logger will do; pino is the default. */
import type { Logger } from '@carillon/contract/process'
import { pino } from 'pino'

export type { Logger }

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

export function createLogger(level: string): Logger {
  return pino({ name: 'carillon', level })
}
