/** A test Carillon on the server of the run. */
import { createTestCarillon, type TestCarillon, type TestCarillonOptions } from '@carillon/server/testing'
import { inject } from 'vitest'

export function testCarillonAt(
  now: TestCarillonOptions['now'],
  options: Omit<TestCarillonOptions, 'now'> = {},
): Promise<TestCarillon> {
  return createTestCarillon({ now, databaseUrl: inject('postgresUrl'), ...options })
}

/** When they began. */
export function starts(carillon: TestCarillon): string[] {
  return carillon.runs().map((run) => run.startedAt.toISOString())
}
