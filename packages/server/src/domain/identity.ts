/**
 * Ids. The id of an execution is computed from its job and its nominal time, so the same occurrence can never become
 * two rows, whichever node dispatches it and however often: the primary key is the idempotency key. It is a UUID of version 8:
 * 48 bits of nominal time in milliseconds (so ids sort by time and the ledger is partitioned by id), then a hash.
 */
import crypto, { randomBytes } from 'node:crypto'

/** The execution id of the occurrence of `jobId` at `nominal` (milliseconds since 1970). */
export function occurrenceId(jobId: string, nominal: number): string {
  return compose(nominal, crypto.hash('sha256', `${jobId}:${nominal}`, 'hex'))
}

/**
 * The execution id of a job that fires once. Such a job carries the time of its run in its own id, and its execution is
 * it: one id from the answer to the caller until the history is gone. Only if its time was changed is it computed.
 */
export function oneShotId(jobId: string, nominal: number): string {
  return timeOf(jobId) === nominal ? jobId : occurrenceId(jobId, nominal)
}

/** An id for a submission or a trigger: as unique as its random part, ordered like all others. */
export function submissionId(at: number): string {
  return compose(at, randomHex())
}

/** The id of the copy of an execution that an operation makes, whichever node makes it and however often. */
export function copyId(operationId: string, executionId: string, at: number): string {
  return compose(at, crypto.hash('sha256', `${operationId}:${executionId}`, 'hex'))
}

/** The execution id of a step of a run, which carries the run's time: every node computes the same. Within a run they sort by number. */
export function stepId(runId: string, number: number): string {
  const place = number.toString(16).padStart(4, '0')
  // The fourth digit makes no difference to `compose` but for its last two bits.
  const hash = crypto.hash('sha256', `${runId}:step:${number}`, 'hex')
  return compose(timeOf(runId), `${place.slice(0, 3)}0${place.slice(3)}${hash}`)
}

/** Of the steps of a run, by number. */
export function stepIds(runId: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) => stepId(runId, number))
}

/** The id of the run that an execution starts, with its time; another payload is another run. */
export function startedRunId(executionId: string, payload: string | null): string {
  return compose(timeOf(executionId), crypto.hash('sha256', `${executionId}:run:${payload ?? ''}`, 'hex'))
}

/** An id for a job, a node or a worker; ordered by creation. */
export const newId = submissionId

/** Could this be an id? */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

/** The instant in an id. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

/** The smallest execution id of an instant; `carillon.first_id` in SQL is the same. */
export function firstIdAt(at: number): string {
  return `${timePart(at)}-0000-0000-000000000000`
}

/** The last two bytes of an id are random or a hash; `carillon.shard_of` in SQL is the same. */
export function shardOf(id: string, shardCount: number): number {
  return Number.parseInt(id.slice(-4), 16) % shardCount
}

const variants = '89ab'

function compose(at: number, hex: string): string {
  const variant = variants[Number.parseInt(hex[3]!, 16) & 3]!
  return `${timePart(at)}-8${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`
}

// What comes together has the same time: the last one is kept.
let lastAt = Number.NaN
let lastPart = ''
function timePart(at: number): string {
  if (at !== lastAt) {
    const time = at.toString(16).padStart(12, '0')
    lastPart = `${time.slice(0, 8)}-${time.slice(8)}`
    lastAt = at
  }
  return lastPart
}

// Random bytes are drawn 4 KiB at a time: one call to the generator for 256 ids.
let pool = randomBytes(0)
let used = 0
function randomHex(): string {
  if (used + 16 > pool.length) {
    pool = randomBytes(4096)
    used = 0
  }
  used += 16
  return pool.toString('hex', used - 16, used)
}
