/**
 * Waits until every transaction that was about to write an event has ended. Exact, whatever the ids look like
 * and however long it takes; see functions/events/event_writers.sql. Writers are calls of ours, which the server cuts off after
 * a second or two.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { CarillonError } from '@carillon/contract'
import { monotonicMs } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import { readWriters } from '../store/events/listeners.ts'

const againMs = 5
/** Longer than any writer may take: a foreign session holds a lock on the table. */
const patienceMs = 10_000

/** Resolves with an id: every event up to it is there or never will be. */
export async function settled(database: Database): Promise<number> {
  const { lastId, writers } = await readWriters(database)
  const until = monotonicMs() + patienceMs
  let left = new Set(writers)
  while (left.size > 0) {
    if (monotonicMs() > until) {
      throw new CarillonError('UNAVAILABLE', {
        message: 'a transaction that writes events does not end',
        hint: 'Try again; `carillon doctor` shows who holds on to what',
      })
    }
    await pause(againMs)
    left = left.intersection(new Set((await readWriters(database)).writers))
  }
  return lastId
}
