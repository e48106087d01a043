/** Structured logs. Anything with these four methods will do; pino is the default. */
import { pino } from 'pino'

export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

export function createLogger(level: string): Logger {
  return pino({ name: 'carillon', level })
}
