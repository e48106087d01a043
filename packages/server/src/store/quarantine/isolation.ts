/**
 * One bad row never stops the others. Every duty that works through rows in batches does it through here: if a call fails with
 * an error that can be a row's own, the batch is bisected until the row is alone; that row is quarantined with its error, and the
 * rest goes on.
 *
 * What must stay true: trouble with the database or the network quarantines nothing. And a bug that fails for every row must
 * not empty a queue: if many rows in a row fail alike and none passes, only a few more are quarantined each time, the duty backs
 * off, and the log says so. See docs/decisions/0032-quarantine.md.
 */
import type { QuarantineSource } from '@carillon/contract'
import { bisect } from '../../lib/bisect.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Database } from '../database.ts'
import { codeOf, isOfData } from '../trouble.ts'
import { type BadRow, type QueueRow, type SetAsideVerdict, setAside } from './set-aside.ts'

/** After this many rows in a row with the same error, the call itself is suspected. */
const mostAlike = 100
/** While it is, at most this many of a batch are quarantined. */
const mostInDoubt = 20
/** Of rows quarantined at once, this many are logged one by one. */
const mostLogged = 20
/** Quarantined in one statement: it must stay far below the statement timeout. */
const mostAtOnce = 500

export interface Isolated<Item, Answer> {
  /** What was done, in parts, each with its answer. */
  done: { items: Item[]; answer: Answer }[]
  /** Quarantined, or gone meanwhile. */
  bad: Item[]
  /** To be tried again later, because of `stoppedBy`. */
  left: Item[]
  /** Null: everything was dealt with. Otherwise the caller puts back the rest and throws, to be called again after a pause. */
  stoppedBy: { error: unknown } | null
}

export interface IsolationOptions {
  database: Database
  logger: Logger
  /** Called with each row that was quarantined. */
  onSetAside?: (source: QuarantineSource) => void
}

export class Isolation {
  readonly #options: IsolationOptions
  /** By call: how its rows have failed since the last that passed. */
  readonly #streaks = new Map<string, { code: string; count: number }>()

  constructor(options: IsolationOptions) {
    this.#options = options
  }

  /** Does `work` on all items that can be done. `call` names it, for the log and the quarantine. */
  async run<Item, Answer>(
    call: string,
    items: Item[],
    work: (items: Item[]) => Promise<Answer>,
    rowOf: (item: Item) => QueueRow,
    precheck?: Precheck<Item>,
  ): Promise<Isolated<Item, Answer>> {
    const sifted = precheck && (await this.#sift(call, items, work, precheck))
    if (sifted && 'answer' in sifted)
      return { done: [{ items, answer: sifted.answer }], bad: [], left: [], stoppedBy: null }
    let inDoubt = 0
    const { done, bad, left, stoppedBy } = await bisect(sifted?.items ?? items, {
      work,
      isOwn: isOfData,
      enough: (error) => this.#failed(call, error) > mostAlike && ++inDoubt >= mostInDoubt,
      onDone: () => this.#streaks.delete(call),
    })
    const doubted = stoppedBy !== null && inDoubt >= mostInDoubt
    if (doubted) this.#doubt(call, stoppedBy.error, left.length)
    const spared = await this.setAside(
      call,
      bad.map(({ item, error }) => ({ item, row: badRow(rowOf(item), error) })),
    )
    const sparedError = bad.find(({ item }) => spared.includes(item))?.error
    return {
      done,
      bad: bad.map(({ item }) => item).filter((item) => !spared.includes(item)),
      left: [...left, ...spared],
      stoppedBy: stoppedBy ?? (spared.length > 0 ? { error: sparedError } : null),
    }
  }

  /** Tries all at once; if that fails, sets aside what can be told to be bad, and answers the others. */
  async #sift<Item, Answer>(
    call: string,
    items: Item[],
    work: (items: Item[]) => Promise<Answer>,
    { find, idOf }: Precheck<Item>,
  ): Promise<{ answer: Answer } | { items: Item[] }> {
    if (items.length === 0) return { items }
    try {
      const answer = await work(items)
      this.#streaks.delete(call)
      return { answer }
    } catch (error) {
      if (!isOfData(error)) throw error
    }
    const found = await find(items)
    await this.setAside(
      call,
      found.map((row) => ({ item: row, row })),
    )
    const ids = new Set(found.map(({ key }) => key.execution_id))
    return { items: items.filter((item) => !ids.has(idOf(item))) }
  }

  /** The same for a call that reads which rows it works on: `read` finds their keys if it fails. */
  async runRead<Item, Answer>(
    call: string,
    { all, read, work, rowOf, find }: ReadOptions<Item, Answer>,
  ): Promise<IsolatedRead<Answer>> {
    try {
      const answer = await all()
      this.#streaks.delete(call)
      return { answers: [answer], found: null, stoppedBy: null }
    } catch (error) {
      if (!isOfData(error)) throw error
    }
    const found = find ? await find() : []
    if (found.length > 0) {
      await this.setAside(
        call,
        found.map((row) => ({ item: row, row })),
      )
      return this.runRead(call, { all, read, work, rowOf })
    }
    const { done, bad, stoppedBy } = await this.run(call, await read(), work, rowOf)
    return { answers: done.map(({ answer }) => answer), found: bad.length, stoppedBy }
  }

  /** The same for what is computed of each row by itself: whatever `make` throws is the row's own. */
  async each<Item, Made>(
    call: string,
    items: readonly Item[],
    make: (item: Item) => Made,
    rowOf: (item: Item) => QueueRow,
  ): Promise<Made[]> {
    const made: Made[] = []
    const bad: { item: Item; row: BadRow }[] = []
    for (const item of items) {
      try {
        made.push(make(item))
        this.#streaks.delete(call)
      } catch (error) {
        const alike = this.#failed(call, error)
        if (alike <= mostAlike || bad.length < mostInDoubt) bad.push({ item, row: badRow(rowOf(item), error) })
        else if (alike === mostAlike + 1) this.#doubt(call, error, items.length - made.length)
      }
    }
    await this.setAside(call, bad)
    return made
  }

  /** Sets rows aside that were found bad otherwise. Answers those that were spared. */
  async setAside<Item>(call: string, bad: { item: Item; row: BadRow }[]): Promise<Item[]> {
    if (bad.length === 0) return []
    const { database, logger, onSetAside } = this.#options
    const verdicts: SetAsideVerdict[] = []
    for (let at = 0; at < bad.length; at += mostAtOnce) {
      const part = bad.slice(at, at + mostAtOnce).map(({ row }) => row)
      verdicts.push(...(await setAside(database, call, part)))
    }
    const gone = bad.filter((_, i) => verdicts[i] === 'SET_ASIDE')
    for (const { row } of gone) onSetAside?.(row.source)
    for (const { row } of gone.slice(0, mostLogged)) {
      logger.error({ call, ...row }, 'a row cannot be processed and was quarantined: see carillon quarantine list')
    }
    if (gone.length > mostLogged) {
      logger.error({ call, more: gone.length - mostLogged }, 'more rows cannot be processed and were quarantined')
    }
    return bad.filter((_, i) => verdicts[i] === 'SPARED').map(({ item }) => item)
  }

  #doubt(call: string, error: unknown, left: number): void {
    const message =
      'every row fails alike: the call is suspected, not the rows; only a few are quarantined until one passes'
    this.#options.logger.error({ err: error, call, left }, message)
  }

  /** How many rows of this call have failed alike by now. */
  #failed(call: string, error: unknown): number {
    const code = nameOf(error)
    const streak = this.#streaks.get(call)
    const count = streak?.code === code ? streak.count + 1 : 1
    this.#streaks.set(call, { code, count })
    return count
  }
}

/** Finds rows that can be told to be bad without trying, so that many cost no more than one. */
export interface Precheck<Item> {
  find: (items: Item[]) => Promise<BadRow[]>
  /** The execution, as the row's key names it. */
  idOf: (item: Item) => string
}

export interface IsolatedRead<Answer> {
  answers: Answer[]
  /** Null: nothing was wrong, and there is one answer. Else how many rows were bad. */
  found: number | null
  stoppedBy: { error: unknown } | null
}

export interface ReadOptions<Item, Answer> {
  /** The call as it is when nothing is wrong. */
  all: () => Promise<Answer>
  /** Reads the keys of what it would have worked on, and nothing else. */
  read: () => Promise<Item[]>
  /** The call, for these alone. */
  work: (items: Item[]) => Promise<Answer>
  rowOf: (item: Item) => QueueRow
  /** Rows that can be told to be bad without trying. */
  find?: () => Promise<BadRow[]>
}

export function badRow(row: QueueRow, error: unknown): BadRow {
  return { ...row, code: nameOf(error), message: error instanceof Error ? error.message : String(error) }
}

/** An SQLSTATE or the name of an error. PostgreSQL has no code of its own for a row that no partition takes. */
function nameOf(error: unknown): string {
  const code = codeOf(error)
  const constraint = typeof error === 'object' && error !== null && 'constraint' in error ? error.constraint : undefined
  if (code === '23514' && constraint === undefined) return 'NO_PARTITION'
  return code || (error instanceof Error ? error.name : 'Error')
}
