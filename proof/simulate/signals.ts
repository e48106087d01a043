/** Hints between the nodes of the world: lost, late, doubled and out of order, as they may be. */
import type { Signal, Signals } from '../../packages/server/src/signals/port.ts'
import type { Network } from './network.ts'
import type { Owner } from './owner.ts'
import type { World } from './world.ts'

export class SignalBus {
  readonly #world: World
  readonly #network: Network
  readonly #members = new Set<SimulatedSignals>()

  constructor(options: { world: World; network: Network }) {
    this.#world = options.world
    this.#network = options.network
  }

  /** For the node that runs this. */
  member(): Signals {
    return new SimulatedSignals(this, this.#world.owner)
  }

  join(member: SimulatedSignals): void {
    this.#members.add(member)
    member.owner.onGone(() => this.leave(member))
  }

  leave(member: SimulatedSignals): void {
    this.#members.delete(member)
  }

  send(from: SimulatedSignals, signal: Signal): void {
    for (const member of this.#members) {
      if (member === from) continue
      const about = `${signal.kind} to ${member.owner.name}`
      if (this.#network.hits('lostHint', about)) continue
      const late = this.#network.hits('lateHint', about) ? this.#network.between(50, 5_000) : 0
      const copies = this.#network.hits('doubledHint', about) ? 2 : 1
      for (let i = 0; i < copies; i++) {
        this.#world.later(late + 2 + this.#network.latency(), () => member.deliver(signal), member.owner)
      }
    }
  }
}

class SimulatedSignals implements Signals {
  readonly owner: Owner
  readonly #bus: SignalBus
  readonly #listeners = new Set<(signal: Signal) => void>()

  constructor(bus: SignalBus, owner: Owner) {
    this.#bus = bus
    this.owner = owner
  }

  async start(): Promise<void> {
    this.#bus.join(this)
  }

  async stop(): Promise<void> {
    this.#bus.leave(this)
  }

  publish(signal: Signal): void {
    this.deliver(signal)
    if (signal.kind !== 'ENDED') this.#bus.send(this, signal)
  }

  subscribe(listener: (signal: Signal) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  deliver(signal: Signal): void {
    for (const listener of this.#listeners) listener(signal)
  }
}
