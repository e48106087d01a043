/**
 * Signals: hints that shorten waiting.
 *
 * Model. A node publishes that something happened; every listener at every node is told, the publisher's own at once. Signals
 * carry no work and no order: a listener looks into PostgreSQL for what has happened.
 *
 * Trust window. None: a signal may be lost, late, doubled or out of order, and several of one kind may arrive as the strongest of
 * them. Nothing may depend on one: every waiter also polls PostgreSQL, which finds everything without them.
 *
 * What may fail. The connection to the other nodes: it is made again in the background, and nothing published meanwhile is
 * kept for long. A listener that throws: the error is logged, the others are told all the same.
 *
 * What must stay true: `publish` never waits and never throws, whatever state the connection is in, and is never part of a
 * transaction that creates work. What was published before `stop` is sent. A message that cannot be read is ignored: another
 * version of Carillon may have sent it.
 */
import type { Service } from '../lib/service.ts'

export type Signal =
  /** Executions became ready in a lane; `tag` is the smallest of them. */
  | { kind: 'READY'; pool: string; lane: number; tag: number }
  /** A pool that was paused is served again. */
  | { kind: 'RESUMED'; pool: string }
  /** Something is due at this time, nearer perhaps than what a leader knows of. */
  | { kind: 'DUE'; at: number }
  /** Of runs in these shards, something waits for nothing more. Null: it is not known in which. */
  | { kind: 'RELEASED'; shards: number[] | null }
  /** A worker should stop an execution. */
  | { kind: 'CANCEL'; workerId: string; executionId: string; fence: number; reason: 'CANCELLED' | 'TIMED_OUT' }
  /** Shards were given up or a node came: look at the distribution. */
  | { kind: 'SHARDS' }
  /** What is declared about tenants has changed. */
  | { kind: 'TENANTS' }
  /** Something that waits for a limit may be admitted. */
  | { kind: 'SLOTS' }
  /** Executions ended. Told at the publishing node only: there are too many, and a caller that waits elsewhere polls. */
  | { kind: 'ENDED'; executionIds: string[] }

export interface Signals extends Service {
  /** Tells every node, this one at once. Never waits, never throws. */
  publish(signal: Signal): void
  /** Returns the function that ends the subscription. */
  subscribe(listener: (signal: Signal) => void): () => void
}
