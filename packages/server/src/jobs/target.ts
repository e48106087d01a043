/**
 * Where a target is run. Built-in targets (HTTP, shell, Kafka, Lambda, runs of graphs) are ordinary handlers of a worker inside a node, in
 * pools of their own; what they need to know travels with the policy, which only a worker's node reads.
 */
import {
  type BuiltInKind,
  type BuiltInTarget,
  builtInKinds,
  defaults,
  limits,
  targetFields,
  type WireJobInput,
} from '@carillon/contract'
import { builtInName, reservedPrefix, targetsOff } from '../domain/built-in-targets.ts'
import { poolName } from '../domain/pool-key.ts'
import type { Problems } from './validate.ts'

export type Target = WireJobInput['target']

const allKinds = `handler, ${builtInKinds.slice(0, -1).join(', ')} and ${builtInKinds.at(-1)}`

export interface Place {
  pool: string
  handler: string
}

/** What the operator allows. The default is nothing but workers' handlers. */
export interface TargetRules {
  /** Throws TARGET_NOT_ALLOWED for what may not be, or not for this tenant. */
  check(target: BuiltInTarget, tenant: string): void
}

export const workersOnly: TargetRules = {
  check(target) {
    const kind = kindOf(target)!
    if (kind !== 'dag') throw targetsOff(kind)
  },
}

export function checkTarget(problems: Problems, target: Target | undefined): void {
  if (!problems.object('/target', target)) {
    if (target === undefined) problems.add('/target', 'target is required', 'Say which handler runs it: { handler }')
    return
  }
  problems.unknown('/target', target, targetFields)
  const kinds = (['handler', ...builtInKinds] as const).filter((kind) => target[kind] !== undefined)
  if (kinds.length > 1) problems.add('/target', `target has ${kinds.join(' and ')}`, `Give exactly one of ${allKinds}`)
  else if (kinds.length === 0)
    problems.add('/target/handler', 'target has no handler', `Give exactly one of ${allKinds}`)
  if (target.handler !== undefined) checkName(problems, '/target/handler', target.handler)
  if (target.pool !== undefined) checkName(problems, '/target/pool', target.pool)
  if (target.pool !== undefined && kinds[0] !== 'handler')
    problems.add(
      '/target/pool',
      'target.pool goes with a handler',
      'Leave it out: built-in targets have pools of their own',
    )
  for (const kind of builtInKinds) checkTexts(problems, `/target/${kind}`, target[kind])
}

/** What a database cannot keep is refused here, wherever it is hidden. */
function checkTexts(problems: Problems, pointer: string, value: unknown): void {
  if (typeof value === 'string') {
    if (value.isWellFormed() && !value.includes('\0')) return
    problems.add(pointer, 'has a character that cannot be stored', 'Send well-formed Unicode without NUL')
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) checkTexts(problems, `${pointer}/${key}`, inner)
  }
}

function checkName(problems: Problems, pointer: string, name: string): void {
  problems.text(pointer, name, limits.nameLength)
  if (typeof name === 'string' && name.startsWith(reservedPrefix))
    problems.add(pointer, `begins with ${reservedPrefix}`, 'Such names are Carillon’s own; choose another')
}

export function placeOf(target: Target): Place {
  const kind = kindOf(target)
  if (kind !== undefined) return { pool: builtInName(kind), handler: builtInName(kind) }
  return { pool: target.pool ?? defaults.pool, handler: target.handler! }
}

export function builtInOf(target: Target): BuiltInTarget | null {
  const kind = kindOf(target)
  return kind === undefined ? null : { [kind]: target[kind] }
}

function kindOf(target: BuiltInTarget): BuiltInKind | undefined {
  return builtInKinds.find((kind) => target[kind])
}

/** The target as it was asked for. */
export function targetOf(place: Place, builtIn: BuiltInTarget | undefined): Target {
  return builtIn ?? { pool: poolName(place.pool), handler: place.handler }
}
