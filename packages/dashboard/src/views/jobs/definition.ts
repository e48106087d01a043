/**
 * A definition as it is edited: one object that the form and the YAML share. Fields that the form does not show stay in it as they
 * are. Defaults are left out, as a person would write it.
 */
import {
  defaults,
  fieldsOfType,
  type Job,
  type JobVersion,
  jobTypes,
  policyOfRuns,
  type WireJobInput,
} from '@carillon/contract'

export type Definition = Partial<WireJobInput>
export type Path = readonly [string, ...string[]]

export function blankIn(timezone: string): Definition {
  return { type: 'CRON', schedule: '0 3 * * *', timezone, target: {} }
}

/** In the order in which people read them. */
const order = [
  ...[
    'key',
    'name',
    'managedBy',
    'type',
    'schedule',
    'interval',
    'anchor',
    'runAt',
    'delayMs',
    'after',
    'timezone',
    'dst',
  ],
  ...['dayFields', 'startAt', 'endAt', 'maxFires', 'jitterSec', 'target', 'payload', 'priority', 'retryPolicy'],
  ...['timeoutSec', 'deadlineSec', 'heartbeatTimeoutSec', 'startWithinSec', 'overlap', 'misfire', 'misfireAfterSec'],
  ...[
    'maxCatchUp',
    'graceSec',
    'pauseAfterFailures',
    'delivery',
    'cancelGraceSec',
    'unknownHandlerSec',
    'limits',
    'labels',
  ],
] as const satisfies readonly (keyof WireJobInput)[]

const usualOfWork: Record<string, unknown> = { ...defaults, jitterSec: 0, payload: null, limits: [] }
const policy: ReturnType<typeof policyOfRuns> = policyOfRuns({})
const usualOfRuns: typeof usualOfWork = {
  ...usualOfWork,
  ...policy,
  retryPolicy: { ...defaults.retryPolicy, ...policy.retryPolicy },
}

export function definitionOf(job: Job | JobVersion['definition']): Definition {
  const found: Record<string, unknown> = {}
  const usual = job.target.dag === undefined ? usualOfWork : usualOfRuns
  const shown = { ...job, runAt: job.runAtLocal ?? job.runAt } as Record<string, unknown>
  for (const field of order) {
    const value = shown[field]
    if (value === null || value === undefined || isSame(value, usual[field])) continue
    if (field === 'retryPolicy' || field === 'dst') found[field] = withoutUsual(value as object, usual[field] as object)
    // The tenant's: the definition says none.
    else if (field === 'jitterSec' && job.jitterBy === 'TENANT') continue
    else if (field === 'labels' && Object.keys(value).length === 0) continue
    else if (field === 'after') found[field] = withoutUsual(value as object, { on: 'SUCCEEDED' })
    else if (field === 'target') found[field] = targetOf(value as WireJobInput['target'])
    else found[field] = value
  }
  // Its zone decides when it fires, so it is said even if it is the usual one.
  if (job.type === 'CRON') found.timezone = job.timezone
  return inOrder(found)
}

export function inOrder(definition: Definition): Definition {
  const rank = (field: string) => {
    const at = (order as readonly string[]).indexOf(field)
    return at < 0 ? order.length : at
  }
  return Object.fromEntries(Object.entries(definition).sort(([a], [b]) => rank(a) - rank(b)))
}

export function valueAt(definition: Definition, [field, ...rest]: Path): unknown {
  const value = (definition as Record<string, unknown>)[field]
  return rest.length === 0 ? value : valueAt((isGroup(value) ? value : {}) as Definition, rest as unknown as Path)
}

/** Undefined takes the field out; a group that is empty then goes, too. */
export function withValue(definition: Definition, [field, ...rest]: Path, value: unknown): Definition {
  const { [field]: before, ...others } = definition as Record<string, unknown>
  if (rest.length === 0) return inOrder(value === undefined ? others : { ...others, [field]: value })
  const group = withValue((isGroup(before) ? before : {}) as Definition, rest as unknown as Path, value)
  return inOrder(Object.keys(group).length === 0 && field !== 'target' ? others : { ...others, [field]: group })
}

const first: Partial<Record<Job['type'], Definition>> = {
  CRON: { schedule: '0 3 * * *' },
  INTERVAL: { interval: 'PT15M' },
  DELAYED: { delayMs: 60_000 },
}

/** Another type has another time field; those of the others go. */
export function withType(definition: Definition, type: Job['type']): Definition {
  const gone = jobTypes.filter((each) => each !== type).flatMap((each) => fieldsOfType[each])
  const rest = Object.fromEntries(Object.entries(definition).filter(([field]) => !gone.includes(field)))
  return inOrder({ ...rest, ...first[type], type })
}

function targetOf(target: WireJobInput['target']): WireJobInput['target'] {
  const { pool, ...rest } = target
  return pool === undefined || pool === defaults.pool ? rest : { ...rest, pool }
}

function withoutUsual(value: object, from: object): object {
  return Object.fromEntries(
    Object.entries(value).filter(([field, each]) => !isSame(each, from[field as keyof typeof from])),
  )
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return JSON.stringify(a) === JSON.stringify(b)
  return a === b || (isGroup(a) && isGroup(b) && textOf(a) === textOf(b))
}

function textOf(group: Record<string, unknown>): string {
  return JSON.stringify(Object.entries(group).sort(([a], [b]) => (a < b ? -1 : 1)))
}
