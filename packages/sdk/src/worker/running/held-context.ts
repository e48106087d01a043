import { CarillonError } from '@carillon/contract'
import type { Clock } from '@carillon/contract/process'
import type { ServerClock } from '../../clock.ts'
import type { Held } from '../held.ts'
import type { ContextHost } from './context.ts'
import { encodeResult } from './result.ts'

/** Completes an execution in the handler's transaction. The installation's library provides it. */
export type CompleteIn = (
  tx: unknown,
  completion: { executionId: string; fence: number; result: string | null },
) => Promise<void>

export interface HeldContextOptions {
  clock: Clock
  serverClock: ServerClock
  completeIn: CompleteIn | undefined
  onProgress(held: Held): void
  onLogged(held: Held): void
}

/** The host of a context whose handler runs in this process. */
export class HeldContextHost implements ContextHost {
  readonly #held: Held
  readonly #options: HeldContextOptions

  constructor(held: Held, options: HeldContextOptions) {
    this.#held = held
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#held.signal
  }

  get deadlineMs(): number {
    const { startedAt, execution } = this.#held
    return Math.min(startedAt! + execution.timeoutSec * 1_000, execution.deadlineAt ?? Number.POSITIVE_INFINITY)
  }

  heartbeat(progress: string | undefined): void {
    const held = this.#held
    if (held.state !== 'RUNNING') return
    if (progress !== undefined) held.progress = progress
    if (held.execution.heartbeatTimeoutSec !== null) {
      held.silentAt = this.#options.clock.now() + held.execution.heartbeatTimeoutSec * 1_000
      held.schedule()
    }
    this.#options.onProgress(held)
  }

  log(line: unknown): void {
    if (this.#held.state !== 'RUNNING') return
    this.#held.log(line, this.serverNow())
    this.#options.onLogged(this.#held)
  }

  serverNow(): number {
    return this.#options.serverClock.now()
  }

  async completeIn(tx: unknown, result: unknown): Promise<void> {
    const { completeIn } = this.#options
    if (completeIn === undefined) {
      throw new CarillonError('CONFIG_INVALID', {
        message: 'This worker was not given a completeIn function',
        hint: 'Pass `completeIn` of @carillon/server in the worker’s options; the transaction must be on the installation’s database',
      })
    }
    const held = this.#held
    const { executionId, fence } = held.execution
    if (held.state !== 'RUNNING') throw new CarillonError('FENCE_STALE', 'This attempt no longer holds its execution')
    const encoded = await encodeResult(held.slots!.definition, result)
    if (typeof encoded === 'object' && encoded !== null) {
      throw new CarillonError('RESULT_INVALID', encoded.error.message)
    }
    await completeIn(tx, { executionId, fence, result: encoded })
    held.completedInTransaction = true
  }
}
