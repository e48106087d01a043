/**
 * Signals: hints that shorten waiting. They may be lost, late, doubled or out of order, and nothing may depend on one:
 * whoever waits for a signal also polls PostgreSQL, which finds everything without them.
 */
import type { Service } from '../lib/service.ts'

export type Signal =
  /** Executions became ready in a lane; `tag` is the smallest of them. */
  | { kind: 'READY'; pool: string; lane: number; tag: number }
  /** A pool that was paused is served again. */
  | { kind: 'RESUMED'; pool: string }
  /** Something is due at this time, nearer perhaps than what a leader knows of. */
  | { kind: 'DUE'; at: number }
  /** A worker should stop an execution. */
  | { kind: 'CANCEL'; workerId: string; executionId: string; fence: number; reason: 'CANCELLED' | 'TIMED_OUT' }
  /** Shards were given up or a node came: look at the distribution. */
  | { kind: 'SHARDS' }
  /** Executions ended. */
  | { kind: 'ENDED'; executionIds: string[] }

export interface Signals extends Service {
  /** Tells every node, this one included. Never waits, never throws. */
  publish(signal: Signal): void
  /** Returns the function that ends the subscription. */
  subscribe(listener: (signal: Signal) => void): () => void
}
