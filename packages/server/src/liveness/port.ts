/**
 * Worker liveness: which workers some node has heard of, and when.
 *
 * Model. Workers report to any node; each node notes whom it heard, and every node can ask. A worker is registered in
 * PostgreSQL, and being registered counts as being heard of. A worker that was silent for a while is suspect and gets no new
 * leases; one that was silent for longer is lost, and its executions are given to others. The caller decides how long:
 * this seam answers only which workers were heard of within a time. A worker in the node's own process is attached: it is kept alive
 * from a thread although a handler blocks the event loop.
 *
 * Trust window. Silence counts only while some node could hear workers. `listeningMs` says for how long the installation could hear
 * workers without a gap; time in which no node ran, or in which what keeps the heartbeats could not be reached, is a gap, and
 * after it every worker has its full time again. Which node asks makes no difference.
 *
 * What may fail. Every call may reject; then nothing is taken from any worker, and the caller tries again. A heartbeat may be
 * lost: the next one comes long before a worker is suspect.
 *
 * What must stay true: a worker that was heard of within a time is never missing from `live` for that time, at any node. To
 * take a live worker for lost costs an attempt; to notice a lost one late costs only time. That an execution has one holder
 * never depends on liveness: fences see to that, in PostgreSQL. The store's own lists read `workers.seen_at`: a version that
 * keeps heartbeats elsewhere writes that column too, if less often, and at least three times within the time after which a
 * worker is lost.
 */
import type { Service } from '../lib/service.ts'

export interface WorkerLiveness extends Service {
  /** These workers were heard of just now. Answers those that are registered. */
  heard(workerIds: string[]): Promise<Set<string>>
  /** Those of these workers that some node heard of within `withinMs`. */
  live(workerIds: string[], withinMs: number): Promise<Set<string>>
  /** For how many milliseconds, up to now, workers could be heard without a gap. */
  listeningMs(): Promise<number>
  /** Forgets workers that were silent for `forMs` and hold nothing. Answers them. */
  forgetSilent(forMs: number): Promise<{ workerId: string; name: string }[]>
  /** A worker in this process, registered before: it is kept alive from now on. */
  attach(workerId: string): void
  detach(workerId: string): void
}
