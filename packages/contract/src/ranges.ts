/** What numbers may be, once: the schemas of the API and the checks of library mode read it here. */
const yearSec = 366 * 86_400
const yearMs = yearSec * 1_000

export interface Range {
  readonly min: number
  readonly max: number
}

export const ranges = Object.freeze({
  timeoutSec: { min: 0.001, max: yearSec },
  deadlineSec: { min: 1, max: yearSec },
  heartbeatTimeoutSec: { min: 1, max: yearSec },
  startWithinSec: { min: 1, max: yearSec },
  cancelGraceSec: { min: 0, max: 3_600 },
  unknownHandlerSec: { min: 0, max: yearSec },
  maxAttempts: { min: 1, max: 10_000 },
  initialDelayMs: { min: 0, max: yearMs },
  factor: { min: 1, max: 100 },
  maxDelayMs: { min: 0, max: yearMs },
  jitter: { min: 0, max: 1 },
  delaysMs: { min: 0, max: yearMs },
  delayMs: { min: 0, max: 100 * yearMs },
  maxFires: { min: 1, max: Number.MAX_SAFE_INTEGER },
  jitterSec: { min: 0, max: yearSec },
  misfireAfterSec: { min: 0, max: yearSec },
  maxCatchUp: { min: 1, max: 1_000_000 },
  graceSec: { min: 0, max: yearSec },
  pauseAfterFailures: { min: 1, max: 10_000 },
  stepConcurrency: { min: 1, max: 10_000 },
  maxFailures: { min: 0, max: 10_000 },
  /** Costs are whole numbers: 65,536 divided by the weight. */
  tenantWeight: { min: 1, max: 1_000 },
  tenantJitterSec: { min: 1, max: yearSec },
  limitConcurrency: { min: 0, max: 1_000_000 },
  limitRateCount: { min: 1, max: 1_000_000 },
  limitRatePerSec: { min: 1, max: 86_400 },
  /** What a tenant may have: jobs, pools, workers, keys, streams. */
  quota: { min: 0, max: 1_000_000_000 },
  submissionsPerSec: { min: 1, max: 1_000_000 },
  dedupeWindowSec: { min: 1, max: yearSec },
  dedupeMaxWaitSec: { min: 1, max: yearSec },
}) satisfies Readonly<Record<string, Range>>
