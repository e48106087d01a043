/**
 * Follows what executions log, for all who follow them at this node. The executions that are followed are looked at together, in one
 * query a second, and at once when one of them ends at this node; a follower reads lines only when there are new ones. So what following
 * costs does not depend on how often lines come. Its answer is from one moment: when it says that an execution has ended, all its lines are there.
 */
import { CarillonError } from '@carillon/contract'
import { monotonicMs } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import type { Service } from '../lib/service.ts'
import type { Logger } from '../observability/logger.ts'
import type { Signals } from '../signals/port.ts'
import type { Database } from '../store/database.ts'
import { type LogHead, readLines, readLogHeads } from '../store/executions/log-lines.ts'
import { linesOf, type NumberedLine } from './log-view.ts'

const lookEveryMs = 1_000
const sayEveryMs = 15_000

export type FollowedItem =
  | { kind: 'LINES'; lines: NumberedLine[] }
  /** JSON text. */
  | { kind: 'PROGRESS'; progress: string }
  | { kind: 'END'; state: string }
  /** Nothing new. */
  | { kind: 'NOTHING' }

export interface Following {
  tenant: string
  executionId: string
  /** The number of the last line that is known; 0: none. */
  after: number
  /** Aborted when the follower disconnects. */
  signal: AbortSignal
}

export interface LogFeedOptions {
  database: Database
  signals: Signals
  logger: Logger
  /** A stream of the tenant opens; what it answers is called when that closes. Throws QUOTA_EXCEEDED. */
  openStream?: (tenant: string) => () => void
  /** Streams that may be open at this node, and of one tenant. */
  most?: number
  mostOfTenant?: number
}

interface Followed {
  followers: number
  /** Undefined: not looked at yet. Null: it is not in the ledger. */
  head: LogHead | null | undefined
  waiting: Set<() => void>
}

export class LogFeed implements Service {
  readonly #options: LogFeedOptions
  readonly #followed = new Map<string, Followed>()
  readonly #streams = new Map<AbortController, string>()
  readonly #loop: Loop
  #unsubscribe = () => {}
  #closed = false

  constructor(options: LogFeedOptions) {
    this.#options = options
    const { logger } = options
    this.#loop = new Loop({ name: 'log feed', everyMs: lookEveryMs, logger, runOnce: () => this.#look() })
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#options.signals.subscribe((signal) => {
      if (signal.kind !== 'ENDED' || this.#followed.size === 0) return
      if (signal.executionIds.some((id) => this.#followed.has(id))) this.#loop.wake()
    })
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    this.close()
    this.#unsubscribe()
    await this.#loop.stop()
  }

  /** Ends every stream because the node stops. Followers go on at another one. */
  close(): void {
    this.#closed = true
    for (const stream of [...this.#streams.keys()]) stream.abort()
  }

  /** Streams that are open here. */
  get open(): number {
    return this.#streams.size
  }

  /** The caller has made sure that the tenant has this execution. Throws TOO_MANY_LISTENERS, RATE_LIMITED or QUOTA_EXCEEDED. */
  follow(following: Following): AsyncGenerator<FollowedItem, void> {
    return this.#serve(following, this.#admit(following))
  }

  async *#serve(following: Following, stream: AbortController): AsyncGenerator<FollowedItem, void> {
    try {
      yield* this.#items(following, stream.signal)
    } finally {
      stream.abort()
    }
  }

  async *#items(following: Following, signal: AbortSignal): AsyncGenerator<FollowedItem, void> {
    const { tenant, executionId } = following
    const followed = this.#followed.get(executionId)!
    let after: number | null = null
    let progress: string | null = null
    let saidAt = monotonicMs()
    while (!signal.aborted) {
      const { head } = followed
      if (head === null) return
      if (head !== undefined) {
        // A number that the log has not reached is of another log.
        after ??= following.after > head.position ? 0 : following.after
        if (head.position > after) {
          const rows = await readLines(this.#options.database, tenant, { executionId, after })
          const lines = linesOf(rows, after)
          after = Math.max(head.position, lines.at(-1)?.position ?? 0)
          if (lines.length > 0) yield { kind: 'LINES', lines }
          saidAt = monotonicMs()
        }
        if (head.progress !== null && head.progress !== progress) {
          progress = head.progress
          yield { kind: 'PROGRESS', progress }
          saidAt = monotonicMs()
        }
        if (head.state !== null) {
          yield { kind: 'END', state: head.state }
          return
        }
      }
      if (followed.head !== head) continue
      await this.#news(followed, saidAt + sayEveryMs - monotonicMs(), signal)
      if (monotonicMs() >= saidAt + sayEveryMs && !signal.aborted) {
        saidAt = monotonicMs()
        yield { kind: 'NOTHING' }
      }
    }
  }

  /** Resolves when there is something new, after `withinMs`, or when the follower disconnects. */
  #news(followed: Followed, withinMs: number, gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(timer)
        gone.removeEventListener('abort', settle)
        followed.waiting.delete(settle)
        resolve()
      }
      const timer = setTimeout(settle, Math.max(0, withinMs))
      gone.addEventListener('abort', settle)
      followed.waiting.add(settle)
      if (gone.aborted) settle()
      else if (followed.head === undefined) this.#loop.wake()
    })
  }

  async #look(): Promise<void> {
    const asked = [...this.#followed]
    if (asked.length === 0) return
    const heads = await readLogHeads(
      this.#options.database,
      asked.map(([id]) => id),
    )
    const headOf = new Map(heads.map((head) => [head.executionId, head]))
    for (const [id, followed] of asked) {
      const head = headOf.get(id) ?? null
      if (followed.head !== undefined && sameHead(followed.head, head)) continue
      followed.head = head
      for (const settle of [...followed.waiting]) settle()
    }
  }

  #admit({ tenant, executionId, signal: gone }: Following): AbortController {
    const { most = 1_000, mostOfTenant = 100 } = this.#options
    if (this.#closed || gone.aborted) {
      throw new CarillonError('UNAVAILABLE', { message: 'the node is going', hint: 'Ask another' })
    }
    if (this.#streams.size >= most) {
      throw new CarillonError('TOO_MANY_LISTENERS', {
        message: `${most} streams of log lines are open at this node`,
        hint: 'Ask another node, or close some',
      })
    }
    if ([...this.#streams.values()].filter((other) => other === tenant).length >= mostOfTenant) {
      throw new CarillonError('RATE_LIMITED', {
        message: `${mostOfTenant} streams of log lines of this tenant are open at this node`,
        hint: 'Close some, or read the lines without `follow`',
      })
    }
    const closed = this.#options.openStream?.(tenant)
    const stream = new AbortController()
    this.#streams.set(stream, tenant)
    const followed = this.#followed.get(executionId) ?? { followers: 0, head: undefined, waiting: new Set() }
    followed.followers++
    this.#followed.set(executionId, followed)
    stream.signal.addEventListener('abort', () => {
      this.#streams.delete(stream)
      closed?.()
      if (--followed.followers === 0) this.#followed.delete(executionId)
    })
    gone.addEventListener('abort', () => stream.abort())
    return stream
  }
}

function sameHead(a: LogHead | null, b: LogHead | null): boolean {
  return a?.position === b?.position && a?.progress === b?.progress && a?.state === b?.state
}
