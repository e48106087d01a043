/** The store operations of the sweeper. A row that makes a statement fail is quarantined, and the others are swept without it. */
import type { Database } from '../store/database.ts'
import type { Isolation } from '../store/quarantine/isolation.ts'
import { deadlineRow, executionRow, heldRow } from '../store/quarantine/set-aside.ts'
import {
  expireDue,
  readExpiringKeys,
  readRunningKeys,
  readStrays,
  readWaitingKeys,
  releaseStranded,
  type Stray,
} from '../store/workers/sweep.ts'

/** Rows of a table to examine when a statement fails. */
const mostLooked = 5_000

type Expired = Awaited<ReturnType<typeof expireDue>>
const idsOf = (keys: { executionId: string }[]) => keys.map(({ executionId }) => executionId)

export class Sweeps {
  readonly #database: Database
  readonly #isolation: Isolation

  constructor(database: Database, isolation: Isolation) {
    this.#database = database
    this.#isolation = isolation
  }

  async strays(range: { watchedMs: number; lostMs: number | null; limit: number }): Promise<Stray[]> {
    const { answers, stoppedBy } = await this.#isolation.runRead('scan of leases', {
      all: () => readStrays(this.#database, range),
      read: () => readRunningKeys(this.#database, mostLooked),
      work: (keys) => readStrays(this.#database, range, idsOf(keys)),
      rowOf: heldRow,
    })
    if (stoppedBy) throw stoppedBy.error
    return answers.flat()
  }

  async expire(limit: number): Promise<Expired> {
    const { answers, stoppedBy } = await this.#isolation.runRead('start windows and deadlines', {
      all: () => expireDue(this.#database, limit),
      read: () => readExpiringKeys(this.#database, limit),
      work: (keys) => expireDue(this.#database, 2 * keys.length, idsOf(keys)),
      rowOf: deadlineRow,
    })
    if (stoppedBy && answers.length === 0) throw stoppedBy.error
    return {
      flagged: answers.flatMap(({ flagged }) => flagged),
      dead: answers.flatMap(({ dead }) => dead),
      skipped: answers.flatMap(({ skipped }) => skipped),
    }
  }

  /** True: something was released. */
  async release(): Promise<boolean> {
    const { answers, stoppedBy } = await this.#isolation.runRead('release of what waits', {
      all: () => releaseStranded(this.#database),
      read: () => readWaitingKeys(this.#database, mostLooked),
      work: (keys) => releaseStranded(this.#database, idsOf(keys)),
      rowOf: ({ executionId }) => executionRow('waiting', executionId),
    })
    if (stoppedBy && answers.length === 0) throw stoppedBy.error
    return answers.some((released) => released)
  }
}
