/** Gathers what is known about an execution and says why it does not run. */
import type { Explanation } from '@carillon/contract'
import { isEnd } from '../domain/execution-state.ts'
import type { Clock } from '../lib/clock.ts'
import type { Database } from '../store/database.ts'
import { countAhead, readPlacement, readServing } from '../store/executions/read-placement.ts'
import { readQuarantinedExecution } from '../store/quarantine/read.ts'
import type { Executions } from './executions.ts'
import { countedAhead, explainEnded, explainQuarantined, explainToCome, explainUnfinished } from './explain.ts'

export class Explainer {
  readonly #options: { database: Database; clock: Clock; executions: Executions; suspectMs: number }

  constructor(options: { database: Database; clock: Clock; executions: Executions; suspectMs: number }) {
    this.#options = options
  }

  async explain(tenant: string, executionId: string): Promise<Explanation> {
    const { database, clock, executions, suspectMs } = this.#options
    const found = await executions.find(tenant, executionId)
    const coming = found ? null : await executions.toCome(tenant, executionId)
    if (coming) return explainToCome(executionId, coming)
    const quarantined = await readQuarantinedExecution(database, tenant, executionId)
    if (!found && quarantined) return explainQuarantined(executionId, quarantined)
    const record = found ?? (await executions.read(tenant, executionId))
    if (isEnd(record.state)) return explainEnded(record)
    const [placement, workers, ahead] = await Promise.all([
      readPlacement(database, executionId),
      readServing(database, record),
      countAhead(database, { executionId, most: countedAhead }),
    ])
    // It ended between the questions.
    if (!placement) return this.explain(tenant, executionId)
    const { lease, queued, waits, backAt, blocked } = placement
    const hasPlace = lease || queued || waits || blocked || backAt !== null
    if (quarantined && !hasPlace) return explainQuarantined(executionId, quarantined)
    return explainUnfinished(record, { placement, workers, ahead, now: clock.now(), suspectMs })
  }
}
