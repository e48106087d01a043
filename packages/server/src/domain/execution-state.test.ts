import { readdirSync, readFileSync } from 'node:fs'
import { jobStates, jobTypes, misfirePolicies, origins, overlapPolicies } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import {
  endStates,
  executionStates,
  failureStates,
  isEnd,
  mayMove,
  type Transition,
  transitions,
} from './execution-state.ts'

const migrations = new URL('../store/migrations/', import.meta.url)
const schema = readdirSync(migrations)
  .sort()
  .map((name) => readFileSync(new URL(name, migrations), 'utf8'))
  .join('\n')
const page = readFileSync(new URL('../../../../docs/internals/execution-states.md', import.meta.url), 'utf8')

/** What the specification allows; what may end before it starts: past its deadline, or discarded from quarantine; and retries of runs. */
const specified: Record<string, string[]> = {
  born: ['PENDING', 'BLOCKED', 'SKIPPED'],
  BLOCKED: ['PENDING', 'CANCELLED', 'SKIPPED'],
  PENDING: ['RUNNING', 'CANCELLED', 'SKIPPED', 'DEAD'],
  RUNNING: ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'WORKER_LOST', 'CANCELLED', 'PENDING'],
  FAILED: ['PENDING', 'DEAD', 'CANCELLED'],
  TIMED_OUT: ['PENDING', 'DEAD', 'CANCELLED'],
  WORKER_LOST: ['PENDING', 'DEAD', 'CANCELLED'],
  SUCCEEDED: [],
  DEAD: ['PENDING', 'BLOCKED'],
  CANCELLED: ['PENDING', 'BLOCKED'],
  SKIPPED: ['PENDING', 'BLOCKED'],
}

describe('the table of transitions', () => {
  it.each([null, ...executionStates])('allows from %s what the specification allows', (from) => {
    const allowed = executionStates.filter((to) => mayMove(from, to))
    expect(new Set(allowed)).toEqual(new Set(specified[from ?? 'born']))
  })

  it('names each transition once, with a reason', () => {
    const names = transitions.map(({ from, to }) => `${from} ${to}`)
    expect(new Set(names).size).toBe(names.length)
    expect(transitions.every(({ because }) => because.length > 0)).toBe(true)
  })

  it('lets an end be left by a person only, and success never', () => {
    const leaving = transitions.filter(({ from }) => from !== null && isEnd(from))
    expect(leaving.every(({ because }) => because.endsWith('by a person'))).toBe(true)
    expect(leaving.map(({ from }) => from)).not.toContain('SUCCEEDED')
  })

  it('leads from birth to every state', () => {
    const reached = new Set<string | null>([null])
    for (let size = 0; size < reached.size; ) {
      size = reached.size
      for (const { from, to } of transitions) if (reached.has(from)) reached.add(to)
    }
    expect([...executionStates].filter((state) => !reached.has(state))).toEqual([])
  })
})

describe('the constraints of the database', () => {
  it.each([
    ['executions', 'state', endStates],
    ['retries', 'state', [...failureStates, 'PENDING']],
    ['executions', 'origin', origins],
    ['jobs', 'state', jobStates],
    ['jobs', 'type', jobTypes],
    ['jobs', 'overlap', overlapPolicies],
    ['jobs', 'misfire', misfirePolicies],
  ] as const)('hold the same words in %s.%s', (table, column, words) => {
    expect(new Set(wordsOf(table, column))).toEqual(new Set<string>(words))
  })
})

describe('the diagram in docs/internals/execution-states.md', () => {
  it('shows every transition with its reason, and no other', () => {
    expect(new Set(arrows().map(described))).toEqual(new Set(transitions.map(described)))
  })

  it('ends where an execution ends', () => {
    const ends = [...page.matchAll(/^\s*(\w+) --> \[\*\]$/gm)].map(([, state]) => state)
    expect(new Set(ends)).toEqual(new Set(endStates))
  })
})

/** The words that a CHECK allows in a column: the one that the table was created with, unless a later migration has put another in its place. */
function wordsOf(table: string, column: string): string[] {
  const [later] = [
    ...schema.matchAll(new RegExp(`add constraint ${table}_${column}_check check \\(${column} in \\(([^)]*)\\)`, 'g')),
  ].slice(-1)
  if (later) return quoted(later[1]!)
  const body = schema.match(new RegExp(`create table carillon\\.${table} \\(\\n(.*?)\\n\\)`, 's'))![1]!
  const check = body.match(new RegExp(`^  ${column} .*check \\(${column} in \\(([^)]*)\\)`, 'm'))![1]!
  return quoted(check)
}

function quoted(list: string): string[] {
  return [...list.matchAll(/'(\w+)'/g)].map(([, word]) => word!)
}

function arrows(): { from: string | null; to: string; because: string }[] {
  return [...page.matchAll(/^\s*(\w+|\[\*\]) --> (\w+): (.+)$/gm)].map(([, from, to, because]) => ({
    from: from === '[*]' ? null : from!,
    to: to!,
    because: because!,
  }))
}

/** A semicolon would end the statement in a diagram. */
function described({
  from,
  to,
  because,
}: Omit<Transition, 'from' | 'to'> & { from: string | null; to: string }): string {
  return `${from} -> ${to}: ${because.replace(';', ',')}`
}
