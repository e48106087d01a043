/** What many seeds come to. */
import { hash } from 'node:crypto'
import type { Violation } from '../history.ts'
import type { SeedReport } from './simulation.ts'

export interface Totals {
  seeds: number
  firstSeed: number
  /** Of all digests in the order of their seeds: the same seeds give the same. */
  digest: string
  lost: number
  doubled: number
  violations: (Violation & { seed: number })[]
  fired: number
  executions: number
  graphs: Record<string, number>
  faults: Record<string, number>
  longestGapMs: number
  virtualSec: number
  seconds: number
}

export function addUp(reports: readonly SeedReport[], seconds: number): Totals {
  const inOrder = reports.toSorted((a, b) => a.seed - b.seed)
  const sum = (of: (report: SeedReport) => number) => inOrder.reduce((total, report) => total + of(report), 0)
  return {
    seeds: inOrder.length,
    firstSeed: inOrder[0]?.seed ?? 0,
    digest: inOrder.length === 1 ? inOrder[0]!.digest : digestOf(inOrder.map(({ digest }) => digest)),
    lost: sum(({ lost }) => lost),
    doubled: sum(({ doubled }) => doubled),
    violations: inOrder.flatMap(({ seed, violations }) => violations.map((violation) => ({ seed, ...violation }))),
    fired: sum(({ fired }) => fired),
    executions: sum(({ executions }) => executions),
    graphs: counted(inOrder.map(({ graphs }) => graphs)),
    faults: counted(inOrder.map(({ faults }) => faults)),
    longestGapMs: Math.max(0, ...inOrder.map(({ longestGapMs }) => longestGapMs)),
    virtualSec: Math.round(sum(({ virtualMs }) => virtualMs) / 1_000),
    seconds: Math.round(seconds * 10) / 10,
  }
}

export function counted(counts: readonly Record<string, number>[]): Record<string, number> {
  const total: Record<string, number> = {}
  for (const each of counts) for (const [kind, n] of Object.entries(each)) total[kind] = (total[kind] ?? 0) + n
  return total
}

function digestOf(digests: string[]): string {
  return hash('sha256', digests.join(), 'hex').slice(0, 16)
}
