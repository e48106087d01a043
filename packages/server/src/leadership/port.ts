/**
 * Leadership: which node may fire the jobs of a shard. At any time at most one node's epoch of a shard is current; an
 * answer given here may be old by the time it is used, which is why every write of a leader proves its epoch inside the
 * database (functions/hold_shards.sql). Leadership makes firing prompt; the epoch makes it right.
 */
import type { Service } from '../lib/service.ts'
import type { LedShard } from '../store/shards/claim.ts'

export type { LedShard }

export interface Leadership extends Service {
  /** The shards this node leads, as far as it knows. */
  shards(): readonly LedShard[]
  /** No other node is there, as far as this one knows. */
  alone(): boolean
  onChange(listener: (shards: readonly LedShard[]) => void): () => void
  /** Look at the distribution now. */
  wake(): void
}
