/** Targets that a node runs itself: their names, and how one that is off is refused. */
import { type BuiltInKind, builtInKinds, CarillonError } from '@carillon/contract'

/** Names of pools and handlers that begin so are Carillon's own. */
export const reservedPrefix = 'carillon.'

/** For people. */
const kindNames: Record<BuiltInKind, string> = {
  http: 'HTTP',
  shell: 'shell',
  kafka: 'Kafka',
  lambda: 'Lambda',
  dag: 'DAG',
}

/** The pool of a built-in target, and its handler: they have one name. */
export function builtInName<Kind extends BuiltInKind>(kind: Kind) {
  return `${reservedPrefix}${kind}` as const
}

/** Pool and handler of steps that wait for a signal: no worker runs them. */
export const signalName = `${reservedPrefix}signal`

/** What the pool's executions are, for people: `Kafka`; null for a pool of workers. */
export function builtInLabel(pool: string): string | null {
  const kind = builtInKinds.find((each) => builtInName(each) === pool)
  return kind === undefined ? null : kindNames[kind]
}

export function targetsOff(kind: BuiltInKind): CarillonError {
  return new CarillonError('TARGET_NOT_ALLOWED', {
    pointer: `/target/${kind}`,
    message: `this node runs no ${kindNames[kind]} targets`,
    hint: 'Use a handler of a worker, or ask the operator to turn them on',
  })
}
