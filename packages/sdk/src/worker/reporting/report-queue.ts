import type { Held } from '../held.ts'
import type { ReportedLines } from '../transport.ts'

/** A report stays small enough to be one request and one transaction. */
const maxOutcomes = 2_000
const maxTextLength = 4_000_000
const maxLinesLength = 256_000

export interface ReportBatch {
  outcomes: Held[]
  began: Held[]
}

/** What the next reports will contain. */
export class ReportQueue {
  #mostOutcomes = maxOutcomes
  #outcomes: Held[] = []
  #began: Held[] = []
  readonly #progress = new Set<Held>()
  /** Those with lines that the installation does not have. */
  readonly #logged = new Set<Held>()

  get outcomes(): number {
    return this.#outcomes.length
  }

  get began(): number {
    return this.#began.length
  }

  get hasProgress(): boolean {
    return this.#progress.size > 0
  }

  addOutcome(held: Held): void {
    this.#outcomes.push(held)
    this.#progress.delete(held)
    this.#logged.delete(held)
  }

  addBegan(held: Held): void {
    this.#began.push(held)
  }

  /** The newest wins: it is read from the execution when the report is made. */
  addProgress(held: Held): void {
    if (held.state === 'RUNNING') this.#progress.add(held)
  }

  get hasLines(): boolean {
    return this.#logged.size > 0
  }

  addLogged(held: Held): void {
    this.#logged.add(held)
  }

  /** Lines of as many executions as fit into one report; the others come first the next time. */
  takeLines(): { held: Held; lines: ReportedLines }[] {
    const taken: { held: Held; lines: ReportedLines }[] = []
    let length = 0
    for (const held of this.#logged) {
      if (length >= maxLinesLength) break
      this.#logged.delete(held)
      const { lines, times, stored } = held.logged!
      if (held.state !== 'RUNNING' || stored >= lines.length) continue
      const added = lines.slice(stored).map((text, at) => ({ at: Math.round(times[stored + at]!), text }))
      for (const { text } of added) length += text.length
      taken.push({ held, lines: { ...held.key, from: stored, lines: added } })
    }
    return taken
  }

  take(): ReportBatch {
    const outcomes = this.#outcomes.splice(0, this.#fitting())
    for (const held of outcomes) held.sent = true
    // One that ended meanwhile needs no start; its outcome tells it.
    const began = this.#began.filter(({ state }) => state === 'PREFETCHED' || state === 'RUNNING')
    this.#began = []
    return { outcomes, began }
  }

  /**
   * A report was refused for its content. It is bisected until the bad outcome is alone; that is
   * returned, to be replaced, and null before that.
   */
  refused({ outcomes, began }: ReportBatch): Held | null {
    const [blamed] = outcomes.length === 1 ? outcomes : []
    this.#mostOutcomes = Math.max(1, outcomes.length >> 1)
    for (const held of outcomes) held.sent = false
    this.#outcomes.unshift(...outcomes)
    this.#began.unshift(...began)
    return blamed ?? null
  }

  accepted(): void {
    this.#mostOutcomes = Math.min(maxOutcomes, this.#mostOutcomes * 2)
  }

  /** Drops an outcome that every node refuses. */
  giveUp(held: Held): void {
    this.#outcomes = this.#outcomes.filter((other) => other !== held)
  }

  takeProgress(): Held[] {
    const taken = [...this.#progress].filter(({ state }) => state === 'RUNNING')
    this.#progress.clear()
    return taken
  }

  #fitting(): number {
    let length = 0
    const most = Math.min(this.#outcomes.length, this.#mostOutcomes)
    for (let count = 0; count < most; count++) {
      length += textLengthOf(this.#outcomes[count]!)
      if (length > maxTextLength) return Math.max(1, count)
    }
    return most
  }
}

function textLengthOf({ outcome }: Held): number {
  let length = 0
  if (outcome !== null && 'result' in outcome) length += outcome.result?.length ?? 0
  if (outcome !== null && 'progress' in outcome) length += outcome.progress?.length ?? 0
  if (outcome !== null && 'error' in outcome) length += outcome.error?.stack?.length ?? 0
  for (const line of outcome?.log ?? []) length += line.length
  return length
}
