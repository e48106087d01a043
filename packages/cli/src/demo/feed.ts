/** Prints how executions end, as the node tells it: asked every moment for the latest, each end is told once. */
import { setTimeout as after } from 'node:timers/promises'
import type { Execution } from '@carillon/contract'
import type { Context } from '../context.ts'
import type { NodeClient } from '../node-client.ts'
import { printable } from '../table.ts'
import { duration } from '../times.ts'
import { whyOf } from '../views.ts'

const everyMs = 400
const windowMs = 120_000
const nameWidth = 12
/** Ends of an execution, and of an attempt that is followed by another. */
const told = new Set(['SUCCEEDED', 'DEAD', 'CANCELLED', 'SKIPPED', 'FAILED', 'TIMED_OUT', 'WORKER_LOST'])

export class Feed {
  readonly #node: NodeClient
  readonly #context: Context
  #seen = new Set<string>()
  #first = true

  constructor(node: NodeClient, context: Context) {
    this.#node = node
    this.#context = context
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#look(signal)
      } catch (error) {
        if (signal.aborted) return
        this.#context.out.note(`The node did not answer: ${(error as Error).message}`)
      }
      await after(everyMs, undefined, { signal }).catch(() => {})
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const from = new Date(this.#context.now() - windowMs).toISOString()
    const { items } = await this.#node.call('listExecutions', { query: { from, limit: 500 } }, { signal })
    const ended = items.filter(({ state }) => told.has(state))
    const seen = new Set(ended.map(idOf))
    // What ended before the demo was started is history.
    if (!this.#first) for (const each of ended.filter((e) => !this.#seen.has(idOf(e))).reverse()) this.#tell(each)
    this.#first = false
    this.#seen = seen
  }

  #tell(execution: Execution): void {
    const { out } = this.#context
    const { name, handler, state, latenessMs, durationMs } = execution
    const at = new Date(execution.finishedAt ?? execution.timeline.at(-1)?.at ?? execution.dueAt)
    const tries =
      execution.attempt > 1 || state === 'FAILED' ? `try ${execution.attempt} of ${execution.maxAttempts}` : ''
    const parts = [
      latenessMs === null ? '' : `${duration(latenessMs)} late`,
      durationMs === null ? '' : `took ${duration(durationMs)}`,
      tries,
      state === 'SUCCEEDED' ? '' : printable(whyOf(execution)),
      state === 'FAILED' ? 'is tried again' : '',
    ]
    const label = out.state(state)(state.padEnd(9))
    out.line(`${clockTime(at)}  ${label}  ${(name ?? handler).padEnd(nameWidth)}  ${parts.filter(Boolean).join(', ')}`)
  }
}

function idOf({ executionId, state, attempt }: Execution): string {
  return `${executionId} ${state} ${attempt}`
}

/** On this machine's clock, as whoever watches sees it. */
function clockTime(at: Date): string {
  return at.toTimeString().slice(0, 8)
}
