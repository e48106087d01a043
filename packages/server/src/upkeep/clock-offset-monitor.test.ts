import { expect, it, vi } from 'vitest'
import { OffsetClock } from '../lib/clock.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { ClockOffsetMonitor } from './clock-offset-monitor.ts'

it('sets the clock by the database’s, and warns once each time it is found to be far off', async () => {
  let serverAheadMs = 60_000
  const database = { now: null, query: async () => [{ now: Date.now() + serverAheadMs }] } as unknown as Database
  const warn = vi.fn()
  const clock = new OffsetClock()
  const monitor = new ClockOffsetMonitor({ database, clock, everyMs: 500, logger: { warn } as unknown as Logger })
  await monitor.runOnce()
  await monitor.runOnce()
  expect(Math.abs(clock.now() - Date.now() - 60_000)).toBeLessThan(1_000)
  expect(warn).toHaveBeenCalledTimes(1)
  serverAheadMs = 0
  await monitor.runOnce()
  serverAheadMs = -60_000
  await monitor.runOnce()
  expect(warn).toHaveBeenCalledTimes(2)
})
