/** Shared by every process of Carillon, server or worker: clock, backoff, logger. Not for pure rules. */
export * from './backoff.ts'
export * from './clock.ts'
export * from './logger.ts'
