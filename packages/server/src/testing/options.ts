import { CarillonError, checkOptions } from '@carillon/contract'
import type { RegisteredHandler } from '@carillon/sdk'
import { createLogger, type Logger } from '../observability/logger.ts'
import { type InstantInput, instantOf } from './time.ts'

export interface TestCarillonOptions {
  /** When the test begins. */
  now: InstantInput
  /** The same as in production, made by `implementHandler`. */
  handlers?: readonly RegisteredHandler[]
  tenant?: string
  /** A PostgreSQL of your own, whose user may create databases. Left out: one is started for the process. */
  databaseUrl?: string
  /** How long a handler may take in real time before `advance` gives up. */
  settleMs?: number
  /** How long in real time a handler that looked at its signal may do nothing before it is taken to wait for time. */
  patienceMs?: number
  logger?: Logger
}

export interface CheckedOptions {
  now: number
  handlers: readonly RegisteredHandler[]
  tenant: string | undefined
  databaseUrl: string | undefined
  settleMs: number
  patienceMs: number
  logger: Logger
}

const known = ['now', 'handlers', 'tenant', 'databaseUrl', 'settleMs', 'patienceMs', 'logger']

export function checkTestOptions(options: TestCarillonOptions): CheckedOptions {
  if (options === undefined) {
    throw refused(
      '/now',
      'createTestCarillon needs the time at which the test begins',
      "createTestCarillon({ now: '2030-01-01T00:00:00Z' })",
    )
  }
  checkOptions(options, known, { what: 'the options of createTestCarillon' })
  const {
    handlers = [],
    tenant,
    databaseUrl,
    settleMs = 5_000,
    patienceMs = 50,
    logger = createLogger('error'),
  } = options
  for (const [i, handler] of handlers.entries()) {
    if (typeof handler?.definition?.name === 'string') continue
    throw refused(
      `/handlers/${i}`,
      'is not a handler',
      'Join a definition with its code: implementHandler(definition, code)',
    )
  }
  if (databaseUrl !== undefined && !URL.canParse(databaseUrl)) {
    throw refused('/databaseUrl', 'is not a URL', 'Write postgres://user:password@host:5432/database')
  }
  for (const [name, value] of Object.entries({ settleMs, patienceMs })) {
    if (!(Number.isInteger(value) && value > 0)) throw refused(`/${name}`, `${value} is not a whole number above 0`)
  }
  return { now: instantOf(options.now, '/now'), handlers, tenant, databaseUrl, settleMs, patienceMs, logger }
}

function refused(pointer: string, message: string, hint?: string): CarillonError {
  return new CarillonError('VALIDATION', { pointer, message, hint })
}
