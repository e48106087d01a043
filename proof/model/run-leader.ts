/** A leader of the runs of graphs: the real one, led by what it is told it leads. */
import { Advancer, type AdvancerOptions } from '../../packages/server/src/dags/advancer.ts'
import type { Leadership } from '../../packages/server/src/leadership/port.ts'
import type { Released } from '../../packages/server/src/store/dags/advance.ts'
import type { Database } from '../../packages/server/src/store/database.ts'
import type { LedShard } from '../../packages/server/src/store/shards/claim.ts'

type Options = Pick<AdvancerOptions, 'database' | 'clock' | 'signals' | 'logger'> & { tag: () => number }

export class RunLeader {
  readonly #advancer: Advancer
  readonly #database: Database
  #led: readonly LedShard[] = []
  #meanwhile: (() => Promise<unknown>) | null = null

  constructor({ tag, ...options }: Options) {
    const leadership: Leadership = {
      ...{ shards: () => this.#led, alone: () => true, onChange: () => () => {}, onFreed: () => () => {}, wake() {} },
      ...{ start: async () => {}, stop: async () => {} },
    }
    this.#database = options.database
    this.#advancer = new Advancer({
      ...{ ...options, leadership, pollMs: 1_000, tellEnd: async () => true },
      // By id, in whatever order they were read.
      tag: async (flows) => {
        const ids = (flows as Released[]).map(({ executionId }) => executionId)
        const tags = new Map(ids.toSorted().map((id) => [id, tag()]))
        await this.#meanwhile?.()
        this.#meanwhile = null
        return ids.map((id) => tags.get(id)!)
      },
    })
  }

  /** `meanwhile`: done once, after the leader has looked and before it writes. */
  async advance(led: readonly LedShard[], meanwhile: (() => Promise<unknown>) | null = null): Promise<void> {
    this.#led = led
    this.#meanwhile = meanwhile
    await this.#advancer.runOnce()
  }

  /** Of executions that are held. */
  async fencesOf(ids: string[]): Promise<Map<string, number>> {
    const rows = await this.#database.query<{ id: string; fence: number }>(
      'model-fences',
      'select r.execution_id id, r.fence from carillon.running r where r.execution_id = any ($1::uuid[])',
      [ids],
    )
    return new Map(rows.map(({ id, fence }) => [id, fence]))
  }
}
