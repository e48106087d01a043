/** Writes the log lines of handlers that go on, of all workers of this node together. */
import type { ReportedLines } from '@carillon/sdk'
import { Batcher } from '../lib/batcher.ts'
import { bisect } from '../lib/bisect.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { type LineNews, storeLines } from '../store/executions/log-lines.ts'
import { isOfData } from '../store/trouble.ts'
import { LineBudget } from './line-budget.ts'

const gatherMs = 25

export interface LineWriterOptions {
  database: Database
  clock: Clock
  logger: Logger
}

export class LineWriter {
  readonly #options: LineWriterOptions
  readonly #budget: LineBudget
  readonly #batcher: Batcher<LineNews, number | null>

  constructor(options: LineWriterOptions) {
    this.#options = options
    this.#budget = new LineBudget(options.clock)
    this.#batcher = new Batcher({ maxItems: () => 200, gatherMs, flush: (news) => this.#store(news) })
  }

  /** Answers for each how many lines are there under its fence; null: not taken. */
  async write(
    workerId: string,
    said: readonly ReportedLines[],
    isOwn: (lines: ReportedLines) => boolean,
  ): Promise<(number | null)[]> {
    const allowed = said.map((lines) => isOwn(lines) && this.#budget.allows(workerId, lines))
    const stored = await this.#batcher.addAll(said.filter((_, at) => allowed[at]))
    let next = 0
    return allowed.map((isAllowed) => (isAllowed ? stored[next++]! : null))
  }

  async #store(news: LineNews[]): Promise<(number | null)[]> {
    // Of an execution that is named twice (a repeated report) the first counts; the worker goes on from what is answered.
    const one = new Map<string, LineNews>()
    for (const each of news) if (!one.has(each.executionId)) one.set(each.executionId, each)
    const stored = new Map<LineNews, number | null>()
    const { bad, stoppedBy } = await bisect([...one.values()], {
      work: async (part) => {
        const answers = await storeLines(this.#options.database, part)
        for (const [at, each] of part.entries()) stored.set(each, answers[at]!)
      },
      isOwn: isOfData,
    })
    if (stoppedBy) throw stoppedBy.error
    for (const { item, error } of bad) {
      const { executionId } = item
      this.#options.logger.error({ err: error, executionId }, 'log lines cannot be stored; they are left out')
    }
    return news.map((each) => stored.get(each) ?? null)
  }
}
