/** How a client asks: any node, and, where it has to know, again until it is answered. It counts what was done. */
import { CarillonError } from '@carillon/contract'
import type { Engine } from '../../packages/server/src/main.ts'
import { isTransient } from '../../packages/server/src/store/trouble.ts'
import { type Network, trouble } from './network.ts'
import type { SimulatedNode } from './node.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

const timeoutMs = 8_000

export interface ClientOptions {
  world: World
  network: Network
  nodes: readonly SimulatedNode[]
  random: Random
  /** Told of an answer that no client should ever get. */
  onDefect: (problem: string) => void
}

export class Client {
  /** How often each thing was asked for and done. */
  readonly done: Record<string, number> = {}
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** What the installation refuses, or does not answer, is left at that. */
  async attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
      this.done[what] = (this.done[what] ?? 0) + 1
    } catch (error) {
      this.#options.world.note(`client ${what}: ${(error as Error).message}`)
      if (!(error instanceof CarillonError) && !isTransient(error) && !isUnreachable(error))
        this.#options.onDefect(`${what}: ${error}`)
    }
  }

  async ask<T>(what: string, work: (engine: Engine) => Promise<T>): Promise<T> {
    const { network, nodes, random } = this.#options
    const node = random.pick(nodes)
    if (!node.isReady) throw trouble('ECONNREFUSED', what)
    return network.ask(node.main, { what, timeoutMs }, () => work(node.engine))
  }

  async untilAnswered<T>(what: string, work: (engine: Engine) => Promise<T>): Promise<T> {
    const { world, random } = this.#options
    for (;;) {
      try {
        return await this.ask(what, work)
      } catch (error) {
        if (error instanceof CarillonError && error.status < 500) throw error
        await world.sleep(random.whole(100, 1_000))
      }
    }
  }
}

export function unlessRefused(error: unknown): void {
  if (!(error instanceof CarillonError && error.status < 500)) throw error
}

/** The network between a client and a node: the client asks again. */
function isUnreachable(error: unknown): boolean {
  return ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT'].includes((error as { code?: string }).code ?? '')
}
