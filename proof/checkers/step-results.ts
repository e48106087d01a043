/** What steps have returned, as their workers wrote it down; of what no worker runs, what the ledger says. */
import type { History, Run } from '../history.ts'
import { isBuiltIn } from './leases.ts'
import type { Step } from './step-lives.ts'

/** Of the success that the ledger took over; as JSON, as it is handed down. */
export function returnedBy({ row }: Pick<Step, 'row'>, runs: readonly Run[] = []): unknown {
  if (isBuiltIn(row)) return row.result
  const counted = runs.find(({ what, fence }) => what === 'SUCCEEDED' && fence === row.fence)
  return counted?.result === undefined ? null : JSON.parse(JSON.stringify(counted.result))
}

/** The list over whose items a step runs: docs/guides/dags.md, a second time. Undefined: there is none. */
export function listOf(
  { asked, run, parents }: Step,
  byExecution: ReadonlyMap<string, History['runs']>,
): unknown[] | undefined {
  const [root, ...keys] = [...asked.forEach!.matchAll(/\w+(?:-\w+)*/g)].map(([key]) => key)
  const results = () =>
    Object.fromEntries(
      parents
        .filter(({ row }) => row.state === 'SUCCEEDED')
        .map((parent) => [parent.asked.name, returnedBy(parent, byExecution.get(parent.row.executionId))]),
    )
  const found = keys.reduce<unknown>(
    (value, key) => (value as Record<string, unknown> | null | undefined)?.[key],
    root === 'payload' ? run.payload : results(),
  )
  return Array.isArray(found) ? found : undefined
}
