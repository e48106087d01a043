import { expect } from 'vitest'
import type { TestStore } from '../../support/store.ts'

export const roundCount = 200
/** Rounds of a race take longer than one test usually may. */
export const raceTimeoutMs = 60_000

/**
 * Repeats a race; after each round every execution must be in one place, and no deadlock may have been needed. What is
 * unfinished goes on in the next round if `keep` says so.
 */
export async function rounds(
  store: TestStore,
  round: (n: number) => Promise<void>,
  { keep = false, count = roundCount } = {},
): Promise<void> {
  const before = await store.deadlocks()
  for (let n = 0; n < count; n++) {
    await round(n)
    await store.assertOnePlace()
    await (keep ? store.forgetEnded() : store.clear())
  }
  expect((await store.deadlocks()) - before, 'deadlocks').toBe(0)
}

/** A random order, so that two callers name the same ids differently. */
export function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

export function tally<T extends string>(words: readonly T[]): Partial<Record<T, number>> {
  const counts: Partial<Record<T, number>> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}
