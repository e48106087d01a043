import { expect, it } from 'vitest'
import type { Installation, Run } from '../ground/ground.ts'
import { keptOf, latenessOf } from './lateness.ts'

const run = (executionId: string, dueAt: number, lateMs: number): Run => ({
  ...{ executionId, dueAt, startedAt: dueAt + lateMs, startedMonotonic: 0 },
})
const window = { from: 1_000, until: 2_000 }

it('counts what was due in the window, its end excluded', () => {
  const runs = [run('a', 999, 500), run('b', 1_000, 3), run('c', 1_999, 7), run('d', 2_000, 900)]
  expect(latenessOf(runs, window)).toMatchObject({ count: 2, p50: 3, p99: 7, longest: 7 })
})

it.each([
  { what: 'all is well', ledger: { total: 2, kept: 2 }, runs: ['a', 'b'], missing: 0, doubled: 0 },
  { what: 'one never ran', ledger: { total: 2, kept: 2 }, runs: ['a'], missing: 1, doubled: 0 },
  { what: 'one did not succeed', ledger: { total: 2, kept: 1 }, runs: ['a', 'b'], missing: 1, doubled: 0 },
  { what: 'one ran twice', ledger: { total: 2, kept: 2 }, runs: ['a', 'b', 'b'], missing: 0, doubled: 1 },
  { what: 'one is there that should not be', ledger: { total: 3, kept: 2 }, runs: ['a', 'b'], missing: 0, doubled: 1 },
])('holds ledger and runs against what should be: $what', async ({ ledger, runs, missing, doubled }) => {
  const installation = { query: async () => [{ ...ledger, firedP99: 0, startedP99: 0 }] } as unknown as Installation
  const ran = runs.map((id) => run(id, 1_500, 1))
  const kept = await keptOf(installation, { jobIds: ['j', 'k'], occurrences: 1, ...window }, ran)
  expect(kept).toMatchObject({ missing, doubled })
})
