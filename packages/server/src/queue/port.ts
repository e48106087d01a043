/**
 * The queue: which ready executions of a pool a node leases next.
 *
 * Model. `ready` in PostgreSQL holds what may run, by pool, lane and tag. A queue selects from it for the node's workers; LEASE then
 * gives the selected ones to them, in PostgreSQL, and decides alone what can be leased. A selection is either a place to read from,
 * the first ones there being taken, or exactly the executions that some other part has told this node of.
 *
 * Trust window. A selection may name what another node has leased, what was cancelled, or what is not there: LEASE passes over it.
 * What no selection names stays ready, and is named again: by the next selection that reads there, or after a time limit.
 *
 * What may fail. A LEASE: its selection is abandoned and selected again. A hint: without any, what is ready is found by polling.
 *
 * What must stay true: everything in `ready` is selected by some node that serves its pool sooner or later; lanes by priority with
 * their turns, within a lane smaller tags first, up to what is under way at the same time.
 */
import type { LaneReading, Leased, ReadyKey } from '../store/executions/lease.ts'

/** A row of the pool's queue. */
export type SelectedKey = Omit<ReadyKey, 'pool'>

/** What a LEASE is to take. */
export interface Selection {
  reading: LaneReading
  /** Exactly these, in the order of lane and tag; null: the first ones from where `reading` says. */
  only: readonly SelectedKey[] | null
}

/** The queue of one pool, as one node sees it. */
export interface PoolQueue {
  /** For a LEASE of so many. Null: nothing is known to be ready; `onReady` says when that changes. */
  select(count: number): Selection | null
  /** For a LEASE of one execution in the transaction that submits it: nothing is looked back for. */
  selectNearby(): Selection
  /** The LEASE has committed. `inOrder`: it took the first ones; else others may lie before them. */
  settled(selection: Selection, leased: readonly Leased[], inOrder: boolean): void
  /** The LEASE failed, or was not made: whether it took any is not known. */
  abandoned(selection: Selection): void
  /** Executions became ready in a lane; `tag` is the smallest of them. */
  hint(lane: number, tag: number): void
  /** Called when something may have become ready that no hint spoke of. Returns the function that ends the subscription. */
  onReady(listener: () => void): () => void
  /** The node serves the pool no longer. */
  stop(): Promise<void>
}

/** The queues of a node. */
export interface Queues {
  /** Of a pool that it begins to serve. `onLeased`: a lane was leased up to this tag. */
  of(pool: string, onLeased: (lane: number, tag: number) => void): PoolQueue
}
