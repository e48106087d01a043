/** For tests of one's own handlers and schedules, on a clock that the test sets. */
import '../node-version.ts'

export { type ImplementOptions, implementHandler, type RegisteredHandler } from '@carillon/sdk'
export { createTestCarillon } from './create-test-carillon.ts'
export type { CrashPoint, HandlerName } from './faults.ts'
export type { TestCarillonOptions } from './options.ts'
export type { Run, RunOutcome } from './run-log.ts'
export type { TestCarillon } from './test-carillon.ts'
export type { DurationInput, InstantInput } from './time.ts'
