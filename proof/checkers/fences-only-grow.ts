import type { Checker, Finding, LedgerRow, Run } from '../history.ts'

export const fencesOnlyGrow: Checker = {
  name: 'fences-only-grow',
  promise: 'Every lease has a fence of its own, and a later lease of an execution has the larger one.',
  check({ executions, runs, leases }) {
    return [
      ...executions.flatMap(shrunk),
      ...shared([...runs.filter(({ what }) => what === 'BEGAN'), ...(leases ?? [])]),
    ]
  },
}

/** In the order in which the ledger learnt of them. Whoever was handed an execution over reports under the same fence. */
function shrunk(row: LedgerRow): Finding[] {
  const told = row.transitions.filter(({ fence }) => fence !== null)
  const findings: Finding[] = []
  for (const [i, { fence, to }] of told.entries()) {
    const before = told[i - 1]
    if (!before || fence! > before.fence! || (fence === before.fence && before.to === 'DEFERRED')) continue
    findings.push({
      subject: row.executionId,
      problem: `was ${to} under fence ${fence} after ${before.to} under ${before.fence}`,
    })
  }
  const last = told.at(-1)
  if (last && (row.fence === null || row.fence < last.fence!)) {
    findings.push({ subject: row.executionId, problem: `has fence ${row.fence} after ${last.to} under ${last.fence}` })
  }
  return findings
}

function shared(uses: readonly Pick<Run, 'executionId' | 'fence'>[]): Finding[] {
  const owners = new Map<number, string>()
  const findings: Finding[] = []
  for (const { executionId, fence } of uses) {
    const owner = owners.get(fence) ?? executionId
    owners.set(fence, owner)
    if (owner !== executionId)
      findings.push({ subject: executionId, problem: `has fence ${fence}, which is ${owner}'s` })
  }
  return findings
}
