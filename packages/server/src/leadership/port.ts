/**
 * Leadership: which node may fire the jobs of a shard.
 *
 * Model. The shards are shared evenly between the nodes that are alive. A node is alive while it holds a lease, which this
 * part acquires, renews and gives up; how is a matter of the version. Every change of a shard's leader raises the shard's
 * epoch, a counter in PostgreSQL whatever elects the leader. A leader of a shard is a node that knows the current epoch.
 *
 *     started ──► follower ──► leads shards, each with its epoch ──► follower: shares changed, lease lost, stopped
 *
 * Trust window. What `shards()` answers may be out of date when it is used: at most until the next look at the distribution,
 * and longer if the main thread stood still. So every write of a leader proves its epoch inside the database
 * (functions/shards/hold_shards.sql) and writes nothing if it was replaced. Leadership makes firing prompt; the epoch makes it right.
 * A version that elects elsewhere stops leading, and says so by `onChange`, no later than its lease there may have ended.
 *
 * What may fail. A renewal: the lease runs out, the node leads nothing until it is renewed, and the others take its shards. A
 * look at the distribution: the last answer holds until the next. Giving up at a stop: the lease runs out instead. A hint
 * that shards are free: the others find them at their next look.
 *
 * What must stay true: a shard has at most one leader with the current epoch; an epoch is never given out twice; while any
 * node lives, each shard has a leader again soon after its last one stopped, or after the lease of one that died. A node whose
 * main thread is stuck does not keep its lease.
 */
import type { Service } from '../lib/service.ts'
import type { LedShard } from '../store/shards/claim.ts'

export type { LedShard }

/** `start` resolves when the node may lead; `stop` gives up all shards at once, without waiting for the lease to run out. */
export interface Leadership extends Service {
  /** The shards this node leads, as far as it knows. */
  shards(): readonly LedShard[]
  /** No other node is there, as far as this one knows. */
  alone(): boolean
  /** Called after every change of `shards()`. Returns the function that ends the subscription. */
  onChange(listener: (shards: readonly LedShard[]) => void): () => void
  /** Called after this node gave up shards, when others can take them: the moment to tell them. */
  onFreed(listener: () => void): () => void
  /** Looks at the distribution now: shards are free, or a node has come. */
  wake(): void
}
