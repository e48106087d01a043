/** How one peer is connected to what measures: the two sides that run in processes of their own, and its store. */
import type { PeerJob, PeerName, PeerPayload } from './peer.ts'

/** What a process needs to find its peer, as JSON. */
export interface Place {
  url: string
  settings: unknown
}

export interface SubmitterSide {
  /** Resolves when every job from the `first` on was acknowledged. */
  bulk(first: number, count: number): Promise<void>
  /** The same by a program that does not reach the store itself, if the peer has a way for those. */
  bulkOverHttp?(first: number, count: number): Promise<void>
  one(job: PeerJob): Promise<void>
  close(): Promise<void>
}

export interface WorkerSide {
  /** Connected before; takes up work from now on. */
  start(): Promise<void>
  close(): Promise<void>
}

export interface Wiring {
  submitter(place: Place): Promise<SubmitterSide>
  /** `run` is the whole handler. */
  worker(place: Place, run: (payload: PeerPayload) => void): Promise<WorkerSide>
}

/** The peer's own word on what waits and what is done, asked by the process that measures. */
export interface Store extends AsyncDisposable {
  readonly place: Place
  /** Worker processes; 2 unless given. */
  readonly workers?: number
  /** Not done yet: waiting or running. */
  pending(): Promise<number>
  /** Jobs it remembers as done; null if it forgets them. */
  finished(): Promise<number | null>
  settle(): Promise<void>
  /** CPU used by a server that is in no role of the harness. */
  redisMs?(): Promise<number>
}

export interface PeerProcessOptions {
  peer: PeerName
  place: Place
}

/** A process loads the library of its own peer and no other. */
export async function wiringOf(peer: PeerName): Promise<Wiring> {
  const modules: Record<PeerName, () => Promise<{ wiring: Wiring }>> = {
    carillon: () => import('./carillon.ts'),
    'carillon library': () => import('./carillon-library.ts'),
    'graphile-worker': () => import('./graphile-worker.ts'),
    'pg-boss': () => import('./pg-boss.ts'),
    bullmq: () => import('./bullmq.ts'),
  }
  return (await modules[peer]()).wiring
}

/** Runs `send` over a count of jobs in batches, so many of them under way at once. */
export async function inBatches(
  { first, count, size, inFlight }: { first: number; count: number; size: number; inFlight: number },
  send: (first: number, count: number) => Promise<unknown>,
): Promise<void> {
  const end = first + count
  let next = first
  const lane = async () => {
    while (next < end) {
      const from = next
      next = Math.min(end, from + size)
      await send(from, next - from)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
}
