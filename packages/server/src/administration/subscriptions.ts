/** Subscriptions to events and audit: listed and ended by an operator, whether or not a node runs. */
import { readSubscriptions, unsubscribe } from '../store/events/subscriptions.ts'
import { type DatabasePlace, onDatabase } from './connection.ts'

export interface Subscription {
  name: string
  source: 'EVENTS' | 'AUDIT'
  /** Everything up to this id was delivered or dropped; null: it has not begun. */
  position: number | null
  /** Rows that were not delivered yet. Ids are counted, so there may be fewer. */
  lag: number
  /** The age of the oldest of them. */
  lagMs: number
  /** Rows that were dropped before they were delivered, and in how many gaps. */
  dropped: number
  gaps: number
  /** The node that has served it last, and how long ago. */
  servedBy: string | null
  servedMs: number | null
}

export function listSubscriptions(place: DatabasePlace): Promise<Subscription[]> {
  return onDatabase(place, async (database) =>
    (await readSubscriptions(database)).map(({ types: _, gap: __, ...shown }) => shown),
  )
}

/** Ends a subscription, whatever it was subscribed to. Answers whether there was one. */
export function endSubscription(place: DatabasePlace, name: string): Promise<boolean> {
  return onDatabase(place, (database) => unsubscribe(database, name, 'administration'))
}
