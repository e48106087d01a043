/** Tells Activity of executions of which only the ids are at hand: what they are is read from the ledger, and nobody waits for it. */
import type { Origin } from '@carillon/contract'
import type { Activity, Work } from '../observability/activity.ts'
import type { Database } from '../store/database.ts'
import { type ExecutionWork, readWorks } from '../store/executions/read-works.ts'

export class ActivityById {
  readonly #database: Database
  readonly #activity: Activity

  constructor({ database, activity }: { database: Database; activity: Activity }) {
    this.#database = database
    this.#activity = activity
  }

  created(origin: Origin, executionIds: string[]): void {
    this.#read(executionIds, (works) => this.#activity.created(origin, works))
  }

  /** Of these, those that ended so. */
  ended(state: 'DEAD' | 'CANCELLED' | 'SKIPPED', executionIds: string[]): void {
    this.#read(executionIds, (works) => {
      const ended: Work[] = works.filter((work) => work.state === state)
      if (ended.length > 0) this.#activity.ended(state, ended)
    })
  }

  #read(executionIds: string[], tell: (works: ExecutionWork[]) => void): void {
    // Figures that cannot be read now are left out.
    if (executionIds.length > 0) void readWorks(this.#database, executionIds).then(tell, () => {})
  }
}
