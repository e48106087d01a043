/** What goes from node to node: signals of a moment, merged, in messages of a limited size. */
import type { Logger } from '../observability/logger.ts'
import type { Signal } from './port.ts'

/** What comes within this time goes out together. */
export const coalesceMs = 2

/** Several of one kind say no more than the strongest of them. */
export function merge(signals: Signal[]): Signal[] {
  const merged = new Map<string, Signal>()
  const others: Signal[] = []
  for (const signal of signals) {
    if (signal.kind === 'READY') {
      const key = `${signal.pool}\u0000${signal.lane}`
      const known = merged.get(key)
      if (known?.kind !== 'READY' || signal.tag < known.tag) merged.set(key, signal)
    } else if (signal.kind === 'DUE') {
      const known = merged.get('DUE')
      if (known?.kind !== 'DUE' || signal.at < known.at) merged.set('DUE', signal)
    } else if (signal.kind === 'RELEASED') {
      const known = merged.get('RELEASED')
      merged.set('RELEASED', known?.kind === 'RELEASED' ? bothReleased(known.shards, signal.shards) : signal)
    } else if (signal.kind === 'SHARDS' || signal.kind === 'TENANTS' || signal.kind === 'SLOTS') {
      merged.set(signal.kind, signal)
    } else {
      others.push(signal)
    }
  }
  return [...merged.values(), ...others]
}

function bothReleased(one: number[] | null, other: number[] | null): Signal {
  const shards = one === null || other === null ? null : [...new Set([...one, ...other])]
  return { kind: 'RELEASED', shards }
}

/** What a message says besides its signals. */
export interface Sender {
  /** The node that sent it. */
  from: string
  /** It was sent another way, too: a node that hears that way ignores it. */
  twice?: boolean
}

/** Messages of at most `maxBytes`, unless a single signal is larger. */
export function pack(signals: Signal[], sender: Sender, maxBytes: number): string[] {
  const messages: string[] = []
  let batch: Signal[] = []
  let size = 0
  for (const signal of signals) {
    const bytes = Buffer.byteLength(JSON.stringify(signal)) + 1
    if (size + bytes > maxBytes && batch.length > 0) {
      messages.push(JSON.stringify({ ...sender, signals: batch }))
      batch = []
      size = 0
    }
    batch.push(signal)
    size += bytes
  }
  if (batch.length > 0) messages.push(JSON.stringify({ ...sender, signals: batch }))
  return messages
}

/** The listeners of a node. An error in one listener reaches neither the others nor the publisher. */
export class Listeners {
  readonly #listeners = new Set<(signal: Signal) => void>()
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  add(listener: (signal: Signal) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  deliver(signal: Signal): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(signal)
      } catch (error) {
        this.#logger.error({ err: error, kind: signal.kind }, 'a signal was not understood')
      }
    }
  }

  /** Delivers what another node sent, unless `ignores` says no. A message that cannot be read is ignored. */
  receive(message: string | undefined, ignores: (sender: Sender) => boolean): void {
    try {
      const { signals, ...sender } = JSON.parse(message ?? '') as Sender & { signals: Signal[] }
      if (ignores(sender)) return
      for (const signal of signals) this.deliver(signal)
    } catch (error) {
      this.#logger.warn({ err: error }, 'a signal could not be read')
    }
  }
}
