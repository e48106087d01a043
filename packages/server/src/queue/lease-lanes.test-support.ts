/**
 * How many of each lane LEASE takes: store/functions/leases/lease.sql without the rows. test/integration/lanes.test.ts compares
 * the two.
 */
import { laneTurn } from './lane-turns.ts'

export const laneCount = 4

/** Answers the lanes of what is leased, in order, and takes it away from `waiting` (rows per lane). */
export function leaseLanes(waiting: number[], since: readonly number[], slots: number): number[] {
  const leased: number[] = []
  const empty = waiting.map(() => false)
  const take = (lane: number, limit: number) => {
    const taken = Math.min(waiting[lane]!, limit)
    waiting[lane]! -= taken
    empty[lane] = taken < limit
    for (let i = 0; i < taken; i++) leased.push(lane)
  }
  for (let lane = 0; lane < laneCount && leased.length < slots; lane++) {
    const free = slots - leased.length
    const reserved = lane < laneCount - 1 ? Math.min(free, Math.floor((since[lane]! + free) / laneTurn)) : 0
    if (free > reserved) take(lane, free - reserved)
  }
  for (let lane = laneCount - 2; lane >= 0 && leased.length < slots; lane--) {
    if (!empty[lane]) take(lane, slots - leased.length)
  }
  return leased
}

/** How many of each lane. */
export function countLanes(lanes: readonly number[]): number[] {
  return Array.from({ length: laneCount }, (_, lane) => lanes.filter((each) => each === lane).length)
}
