/** What every process of Carillon has, server or worker: a clock, growing pauses, a place to log to. Not for pure rules. */
export * from './backoff.ts'
export * from './clock.ts'
export * from './logger.ts'
