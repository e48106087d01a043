/**
 * What is measured of every peer, Carillon among them, in the same way. What must stay true so that the figures may stand
 * side by side:
 *
 * - Who submits and who works are processes of their own, the same two programs for everybody (submitter-process.ts,
 *   worker-process.ts), timed by the same code (queue-peer.ts). A peer differs by its wiring and its store only.
 * - A submission counts when it was acknowledged, a run when the peer's own store says that it is done.
 * - Handlers do nothing but count. Workers are connected before the clock starts.
 */
import type { Cpu } from '../measure/cpu.ts'
import { handlerOf, payloadOf, tenantCount, type WorkPayload } from '../work.ts'

export const peerNames = ['carillon', 'carillon library', 'graphile-worker', 'pg-boss', 'bullmq'] as const
export type PeerName = (typeof peerNames)[number]

/** CPU by role; Redis is in no role of the harness and told apart. */
export interface Used {
  cpu: Cpu
  redisMs: number
}

export interface Stretch extends Used {
  count: number
  seconds: number
}

export interface Peer extends AsyncDisposable {
  readonly name: PeerName
  /** Submits `warmUp` jobs, then `count` as fast as it can, which are measured. All wait for `drain`. */
  submitBulk(count: number, warmUp: number, way?: { overHttp?: boolean }): Promise<Stretch>
  /** Has the peer's worker processes run what waits, two unless its store says otherwise. Measured is what comes after the first `warmUp`. */
  drain(count: number, warmUp: number): Promise<Stretch>
  /** Milliseconds from before the submission of a job to the start of its handler: one job at a time, nothing else to do. */
  pickup(samples: number): Promise<number[]>
  /** Lets what earlier work left behind (dead rows, dirty pages, logs) be dealt with before the next one is measured. */
  settle(): Promise<void>
}

/** What every job carries, whoever runs it. Peers without tenants have theirs in here; `n` tells jobs apart. */
export interface PeerPayload extends WorkPayload {
  tenant: string
  n: number
}

export interface PeerJob {
  handler: string
  payload: PeerPayload
}

export function jobOf(n: number): PeerJob {
  return { handler: handlerOf(n), payload: { ...payloadOf(n), tenant: `tenant-${1 + (n % tenantCount)}`, n } }
}

export function jobsOf(first: number, count: number): PeerJob[] {
  return Array.from({ length: count }, (_, i) => jobOf(first + i))
}
