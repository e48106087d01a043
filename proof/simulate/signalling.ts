/** Who signals steps that wait for it: some too early, some late, some twice, some never. */
import { CarillonError } from '@carillon/contract'
import { stepId } from '../../packages/server/src/domain/identity.ts'
import type { Signal } from '../history.ts'
import type { Client } from './client.ts'
import type { Random } from './random.ts'
import { drawResult } from './results.ts'
import type { World } from './world.ts'

const actor = 'client'
const mostTries = 12
const againMs: [number, number] = [500, 2_500]

export interface SignallingOptions {
  client: Client
  world: World
  random: Random
}

export interface Waiting {
  tenant: string
  runId: string
  step: string
  number: number
}

export class Signalling {
  readonly sent: Signal[] = []
  readonly #options: SignallingOptions
  #closed = false
  #count = 0

  constructor(options: SignallingOptions) {
    this.#options = options
  }

  close(): void {
    this.#closed = true
  }

  /** Until it is accepted; then perhaps once more. */
  async watch(waiting: Waiting): Promise<void> {
    const { world, random } = this.#options
    if (random.chance(0.2)) return
    await world.sleep(random.chance(0.2) ? random.whole(10_000, 25_000) : random.whole(0, 3_000))
    let more = random.chance(0.3) ? 2 : 1
    for (let tries = 0; tries < mostTries && more > 0 && !this.#closed; tries++) {
      if (await this.#send(waiting)) more--
      await world.sleep(random.whole(...againMs))
    }
  }

  /** Whether it was accepted. */
  async #send({ tenant, runId, step, number }: Waiting): Promise<boolean> {
    const { client, world, random } = this.#options
    const payload = drawResult(random, `signal ${++this.#count}`)
    const signal: Signal = { executionId: stepId(runId, number), at: world.now, payload, answer: 'UNKNOWN' }
    this.sent.push(signal)
    await client.attempt('signal step', async () => {
      try {
        await client.ask('signal', ({ dagRuns }) =>
          dagRuns.signal({ tenant, actor }, { runId, step, result: JSON.stringify(payload) }),
        )
        signal.answer = 'ACCEPTED'
      } catch (error) {
        if (error instanceof CarillonError && error.status < 500) signal.answer = 'REFUSED'
        throw error
      }
    })
    return signal.answer === 'ACCEPTED'
  }
}
