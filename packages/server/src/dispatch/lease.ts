/** LEASE for a pool; an execution that makes it fail is quarantined, and the workers get the others. */
import type { Selection } from '../queue/port.ts'
import type { Database } from '../store/database.ts'
import { type Leased, lease, type ReadyKey, readReadyKeys, type Slot } from '../store/executions/lease.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { readyRow } from '../store/quarantine/set-aside.ts'
import { findUnusableReady } from '../store/quarantine/stuck.ts'

/** Rows of each lane to examine when a call fails. */
const mostLooked = 500

/** Every slot is taken: the search goes on with the next call. */
class NoSlotLeft extends Error {}

/** `inOrder`: the smallest tags, as always; else what lies before the tags reached may still be there. */
export async function leaseGood(
  { pool, database, isolation }: { pool: string; database: Database; isolation: Isolation },
  { reading, only: selected }: Selection,
  slots: Slot[],
): Promise<{ leased: Leased[]; inOrder: boolean }> {
  let free = slots
  const work = async (keys: ReadyKey[]) => {
    if (free.length === 0) throw new NoSlotLeft()
    const leased = await lease(database, pool, reading, free.slice(0, keys.length), keys)
    // Slots are filled in their order, lane after lane.
    free = free.slice(leased.reduce((sum, { count }) => sum + count, 0))
    return leased
  }
  const { answers, found, stoppedBy } = await isolation.runRead('LEASE', {
    all: () => lease(database, pool, reading, slots, selected ?? undefined),
    read: () => readReadyKeys(database, pool, mostLooked),
    work,
    find: () => findUnusableReady(database, pool, mostLooked),
    rowOf: readyRow,
  })
  const leased = answers.flat()
  // What was leased goes to its workers whatever came after it; the next call meets the error again.
  if (stoppedBy && leased.length === 0 && !(stoppedBy.error instanceof NoSlotLeft)) throw stoppedBy.error
  return { leased, inOrder: found === null }
}
