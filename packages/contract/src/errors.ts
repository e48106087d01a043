/**
 * Every error a request can end with, in one table: its stable code, the HTTP status it answers with, and what it
 * means. Bugs are not here (they are assertions and crash), nor is transient trouble with PostgreSQL (it is retried),
 * nor the outcome of an execution (that is a value in the ledger).
 */
export const errorTable = {
  VALIDATION: { status: 422, title: 'The request is not valid' },
  SCHEDULE_INVALID: { status: 422, title: 'The schedule cannot be understood' },
  SCHEDULE_NEVER_FIRES: { status: 422, title: 'The schedule has no occurrence to come' },
  TIMEZONE_UNKNOWN: { status: 422, title: 'The time zone is not in the tz database' },
  TIME_OUT_OF_RANGE: { status: 422, title: 'The time is outside what can be scheduled' },
  POOL_LIMIT_REACHED: { status: 409, title: 'The tenant has as many pools as it may' },
  POOL_UNKNOWN: { status: 422, title: 'The pool does not exist' },
  LIMIT_UNKNOWN: { status: 422, title: 'The limit does not exist' },
  AFTER_UNKNOWN: { status: 422, title: 'The job to follow does not exist' },
  AFTER_CYCLE: { status: 422, title: 'The jobs would follow each other for ever' },
  DAG_UNKNOWN: { status: 422, title: 'The graph does not exist' },
  PAYLOAD_INVALID: { status: 422, title: 'The payload does not fit the handler' },
  PAYLOAD_TOO_LARGE: { status: 413, title: 'The payload is larger than 256 KiB' },
  RESULT_INVALID: { status: 422, title: 'The result is not JSON' },
  RESULT_TOO_LARGE: { status: 413, title: 'The result is larger than 256 KiB' },
  JOB_NOT_FOUND: { status: 404, title: 'There is no such job' },
  DAG_NOT_FOUND: { status: 404, title: 'There is no such graph' },
  DAG_RUN_NOT_FOUND: { status: 404, title: 'There is no such run' },
  EXECUTION_NOT_FOUND: { status: 404, title: 'There is no such execution' },
  EXECUTION_TO_COME: { status: 404, title: 'The execution is still to come' },
  VERSION_MISMATCH: { status: 412, title: 'It was changed meanwhile' },
  STATE_CONFLICT: { status: 409, title: 'The current state does not allow this' },
  OCCURRENCE_TOO_OLD: { status: 409, title: 'The occurrence is older than the history that is kept' },
  OVERLAP_FORBIDDEN: { status: 409, title: 'The job is already running and does not allow overlap' },
  FENCE_STALE: { status: 409, title: 'The lease has been given to another attempt' },
  BODY_MALFORMED: { status: 400, title: 'The body is not JSON' },
  UNAUTHENTICATED: { status: 401, title: 'A valid token is needed' },
  TOKEN_INVALID: { status: 401, title: 'The token does not belong to this execution' },
  SCOPE_MISSING: { status: 403, title: 'The token does not allow this' },
  TENANT_NOT_YOURS: { status: 403, title: 'The token belongs to another tenant' },
  TOKENS_NOT_WRITABLE: { status: 403, title: 'This node may not create or revoke tokens' },
  TENANT_UNDECLARED: { status: 403, title: 'The tenant is not declared' },
  POOL_NOT_YOURS: { status: 403, title: 'The pool belongs to another tenant' },
  ROUTE_NOT_FOUND: { status: 404, title: 'There is nothing at this address' },
  TENANT_NOT_FOUND: { status: 404, title: 'There is no such tenant' },
  LIMIT_NOT_FOUND: { status: 404, title: 'There is no such limit' },
  POOL_NOT_FOUND: { status: 404, title: 'There is no such pool' },
  WORKER_UNKNOWN: { status: 404, title: 'The worker is not registered' },
  QUARANTINED_NOT_FOUND: { status: 404, title: 'There is no such row in quarantine' },
  OPERATION_NOT_FOUND: { status: 404, title: 'There is no such operation' },
  TOKEN_NOT_FOUND: { status: 404, title: 'There is no such token' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'The address does not take this method' },
  REQUEST_TIMEOUT: { status: 408, title: 'The request took too long to arrive' },
  IDEMPOTENCY_KEY_REUSED: { status: 409, title: 'The Idempotency-Key was used for another request' },
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  MEDIA_TYPE_UNKNOWN: { status: 415, title: 'The body must be JSON' },
  TARGET_NOT_ALLOWED: { status: 422, title: 'The operator does not allow this target' },
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  QUOTA_EXCEEDED: { status: 429, title: 'A quota of the tenant is used up' },
  HEADERS_TOO_LARGE: { status: 431, title: 'The headers are too large' },
  INTERNAL: { status: 500, title: 'Something broke in the node' },
  UNAVAILABLE: { status: 503, title: 'The node cannot serve this now' },
  TOO_MANY_WAITING: { status: 503, title: 'Too many workers wait at this node' },
  TOO_MANY_LISTENERS: { status: 503, title: 'Too many event streams are open at this node' },
  CONFIG_INVALID: { status: 500, title: 'The configuration is not valid' },
  SCHEMA_TOO_NEW: { status: 500, title: 'The database belongs to a newer version of Carillon' },
  EMBEDDED_UNAVAILABLE: { status: 500, title: 'The embedded PostgreSQL cannot be started' },
} as const

export type ErrorCode = keyof typeof errorTable

export interface ErrorDetail {
  /** JSON pointer to the offending part of the input, such as `/schedule`. */
  pointer?: string
  message: string
  /** What to do about it. */
  hint?: string
}

export interface CarillonErrorOptions {
  cause?: unknown
  /** Of an answer whose code is not in this version's table. */
  status?: number
  /** How long to wait before the same is asked for again, if the answer said so. */
  retryAfterMs?: number
}

/** What a JSON pointer names, as a person writes it: `retryPolicy.maxAttempts` of `/retryPolicy/maxAttempts`. */
export function fieldOf(pointer: string): string {
  const parts = pointer.split('/').slice(1)
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')).join('.')
}

/** A name as a part of a JSON pointer. */
export function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** A detail as a sentence: it names its field unless the message does. */
export function sentenceOf({ pointer, message }: ErrorDetail): string {
  const field = pointer === undefined ? '' : fieldOf(pointer)
  const last = field.slice(field.lastIndexOf('.') + 1)
  return field === '' || message.includes(last) ? message : `${field}: ${message}`
}

/** A request error: the caller asked for something that cannot be done, and this says what to do instead. */
export class CarillonError extends Error {
  override readonly name = 'CarillonError'
  readonly code: ErrorCode
  readonly errors: readonly ErrorDetail[]
  declare readonly retryAfterMs?: number
  readonly #status: number | undefined

  constructor(code: ErrorCode, detail: string | ErrorDetail | ErrorDetail[], options: CarillonErrorOptions = {}) {
    const errors = typeof detail === 'string' ? [{ message: detail }] : Array.isArray(detail) ? detail : [detail]
    const text = errors.map((e) => (e.hint ? `${sentenceOf(e)} (${e.hint})` : sentenceOf(e))).join('; ')
    super(text || (errorTable[code]?.title ?? code), 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.errors = errors
    this.#status = options.status
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
  }

  get status(): number {
    return this.#status ?? errorTable[this.code]?.status ?? 500
  }
}
