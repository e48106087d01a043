/**
 * Troubles excuse waiting only while they last: what was due in the middle of one is started soon after it, whichever tenant
 * it belongs to. One finding for each tenant, about the one that waited longest.
 */
import type { Checker } from '../history.ts'
import { HealthyTime } from './healthy-time.ts'
import { waits } from './waiting.ts'

export const nobodyStarves: Checker = {
  name: 'nobody-starves',
  promise: 'Nothing waits for its start longer than promised, not counting the time of troubles.',
  check(history) {
    const healthy = new HealthyTime(history)
    const starved = waits(history)
      .map((wait) => ({ ...wait, ms: healthy.between(wait.from, wait.to) }))
      .filter(({ ms }) => ms > history.bounds.startMs)
    return [...Map.groupBy(starved, ({ row }) => row.tenant)].map(([tenant, own]) => {
      const worst = own.reduce((a, b) => (b.ms > a.ms ? b : a))
      return {
        subject: worst.row.executionId,
        problem:
          `waited ${worst.ms} ms of healthy time ${worst.began ? 'for its start' : 'and has not started'}, ` +
          `one of ${own.length} of tenant ${tenant} beyond ${history.bounds.startMs} ms`,
      }
    })
  },
}
