/**
 * Options of pg-boss, BullMQ, graphile-worker, Agenda, node-cron and croner, and what they are called here. Of `use`, the first
 * that the call knows is named; `otherwise` is said where it knows none of them.
 */
export interface PeerWord {
  use?: readonly string[]
  how?: string
  otherwise?: string
}

const inSchedule = 'Recurring work is created with schedule(…, { cron } or { every })'
const onHandler = 'Give it where the handler is registered: handle(definition, { concurrency }, code)'
const installationWide = 'History is kept for retentionDays, a setting of the installation'
const oneOrder = 'Executions of one priority start in the order in which they are due'

const attempts: PeerWord = { use: ['retryPolicy.maxAttempts', 'maxAttempts'], how: 'the first try counts' }
const later: PeerWord = { use: ['delayMs', 'startAt'], how: 'milliseconds, or runAt for an instant' }
const dedupe: PeerWord = {
  use: ['dedupe', 'key'],
  how: 'dedupe: { key } keeps at most one submission, key names a recurring job',
}
const window: PeerWord = { use: ['dedupe.windowSec', 'windowSec'] }
const timeout: PeerWord = { use: ['timeoutSec'], how: 'seconds, per attempt' }
const zone: PeerWord = { use: ['timezone'], how: 'an IANA name such as Europe/Berlin' }
const cron: PeerWord = { use: ['cron', 'schedule'], otherwise: inSchedule }
const interval: PeerWord = {
  use: ['every', 'interval'],
  how: 'an ISO 8601 duration such as PT15M',
  otherwise: inSchedule,
}
const database: PeerWord = { use: ['databaseUrl', 'urls'], how: 'such as postgres://user:password@host:5432/database' }
const nodes: PeerWord = { use: ['urls', 'databaseUrl'] }
const pool: PeerWord = { use: ['pool'], otherwise: 'The pool is a part of the handler: defineHandler({ name, pool })' }
const perHandler: PeerWord = { use: ['concurrency'], otherwise: onHandler }
const kept: PeerWord = { use: ['retentionDays'], otherwise: installationWide }
const labels: PeerWord = { use: ['labels'] }

export const peerWords: Readonly<Record<string, PeerWord>> = Object.freeze({
  __proto__: null as never,
  tz: zone,
  timeZone: zone,
  zone,
  utcOffset: zone,
  delay: later,
  startAfter: later,
  delaySeconds: later,
  at: { use: ['runAt'] },
  when: { use: ['runAt'] },
  date: { use: ['runAt'] },
  repeat: cron,
  pattern: cron,
  expression: cron,
  cronExpression: cron,
  schedule: cron,
  cron,
  every: interval,
  interval,
  repeatEvery: interval,
  rrule: { use: ['cron'], otherwise: 'RRULE is not here yet; use cron or an interval' },
  attempts,
  retries: attempts,
  retryLimit: attempts,
  maxAttempts: attempts,
  max_attempts: attempts,
  maxRetries: attempts,
  backoff: { use: ['retryPolicy.backoff', 'backoff'] },
  retryBackoff: { use: ['retryPolicy.backoff', 'backoff'], how: 'EXPONENTIAL, LINEAR or FIXED' },
  retryDelay: { use: ['retryPolicy.initialDelayMs', 'initialDelayMs'], how: 'milliseconds' },
  retryDelayMax: { use: ['retryPolicy.maxDelayMs', 'maxDelayMs'], how: 'milliseconds' },
  singletonKey: dedupe,
  jobKey: dedupe,
  job_key: dedupe,
  jobId: dedupe,
  deduplication: dedupe,
  debounce: dedupe,
  debouncing: dedupe,
  throttle: dedupe,
  unique: dedupe,
  singletonSeconds: window,
  singletonMinutes: window,
  singletonHours: window,
  ttl: window,
  timeout,
  expireInSeconds: timeout,
  expireInMinutes: timeout,
  expireInHours: timeout,
  lockDuration: timeout,
  heartbeatSeconds: { use: ['heartbeatTimeoutSec'] },
  keepUntil: { use: ['startWithinSec'] },
  retentionSeconds: kept,
  retentionMinutes: kept,
  retentionHours: kept,
  deleteAfterSeconds: kept,
  removeOnComplete: kept,
  removeOnFail: kept,
  keepJobs: kept,
  deadLetter: {
    otherwise: 'Executions that used up their attempts are dead letters by themselves; nothing is to be set',
  },
  limiter: { otherwise: 'Rate limits are not here yet; concurrency is per handler and worker' },
  rateLimit: { otherwise: 'Rate limits are not here yet; concurrency is per handler and worker' },
  lifo: { otherwise: oneOrder },
  parent: { otherwise: 'Flows are not here yet' },
  children: { otherwise: 'Flows are not here yet' },
  queue: pool,
  queueName: pool,
  queue_name: pool,
  task: pool,
  concurrency: perHandler,
  teamSize: perHandler,
  teamConcurrency: perHandler,
  localConcurrency: perHandler,
  batchSize: perHandler,
  startDate: { use: ['startAt'] },
  endDate: { use: ['endAt'] },
  limit: { use: ['maxFires'] },
  immediately: { otherwise: 'Call trigger(key) after schedule: it runs the job now, apart from its schedule' },
  runOnInit: { otherwise: 'Call trigger(key) after schedule: it runs the job now, apart from its schedule' },
  protect: { use: ['overlap'], how: "'FORBID', 'QUEUE_ONE' or 'REPLACE'" },
  noOverlap: { use: ['overlap'], how: "'FORBID', 'QUEUE_ONE' or 'REPLACE'" },
  id: { use: ['key'] },
  data: { use: ['payload'], otherwise: 'The payload is an argument of its own, before the options' },
  payload: { otherwise: 'The payload is an argument of its own, before the options' },
  meta: labels,
  metadata: labels,
  tags: labels,
  flags: labels,
  connection: database,
  connectionString: database,
  database,
  db: database,
  pgPool: database,
  redis: { otherwise: 'Carillon runs on PostgreSQL alone: give databaseUrl' },
  url: nodes,
  baseUrl: nodes,
  endpoint: nodes,
  apiKey: { use: ['token'] },
  auth: { use: ['token'] },
  max: { use: ['maxConnections'] },
  maxPoolSize: { use: ['maxConnections'] },
  pollInterval: { use: ['pollMs'], how: 'milliseconds' },
  pollingIntervalSeconds: { use: ['pollMs'], how: 'milliseconds' },
  log: { use: ['logger', 'logLevel'] },
})
