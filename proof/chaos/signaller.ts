/** Signals the steps of runs that wait for it, until each is known to have been signalled. */
import { setTimeout as after } from 'node:timers/promises'
import type { DagStep } from '@carillon/contract'
import type { Client } from '@carillon/sdk'
import type { Signal } from '../history.ts'
import type { Random } from '../simulate/random.ts'

const againMs: [number, number] = [300, 1_500]

export class Signaller {
  readonly sent: Signal[] = []
  readonly #random: Random
  readonly #signal: AbortSignal
  readonly #under = new Set<Promise<void>>()

  constructor({ random, signal }: { random: Random; signal: AbortSignal }) {
    this.#random = random
    this.#signal = signal
  }

  watch(client: Client, runId: string, steps: readonly DagStep[]): void {
    for (const { name, waitFor } of steps) {
      if (waitFor === undefined) continue
      const done = this.#watch(client, { runId, step: name }).finally(() => this.#under.delete(done))
      this.#under.add(done)
    }
  }

  /** Resolves when all have been signalled, or after an abort. */
  async idle(): Promise<void> {
    await Promise.all(this.#under)
  }

  async #watch(client: Client, waiting: { runId: string; step: string }): Promise<void> {
    while (!this.#signal.aborted) {
      await after(this.#random.whole(...againMs), undefined, { signal: this.#signal }).catch(() => {})
      if (await this.#isSignalled(client, waiting).catch(() => false)) return
    }
  }

  async #isSignalled(client: Client, { runId, step }: { runId: string; step: string }): Promise<boolean> {
    const run = await client.dagRuns.get(runId)
    const found = run?.steps.find(({ name }) => name === step)
    if (found === undefined) return false
    if (found.finishedAt !== null) return true
    const signal: Signal = {
      ...{ executionId: found.executionId, at: Date.now(), payload: { signal: this.sent.length }, answer: 'UNKNOWN' },
    }
    this.sent.push(signal)
    // Refused or not: the client may have asked twice, and a refusal of the second request says nothing about the first.
    await client.dagRuns.signal(runId, step, signal.payload)
    signal.answer = 'ACCEPTED'
    return true
  }
}
