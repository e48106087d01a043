/**
 * Tells when keys under a prefix are deleted in etcd. It is a hint: what it misses while etcd is away, or after etcd has gone back in
 * time, the next look finds.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Etcd3, Watcher } from 'etcd3'

export class EtcdWatch {
  readonly #onDeleted: () => void
  #watcher: Watcher | null = null

  constructor(onDeleted: () => void) {
    this.#onDeleted = onDeleted
  }

  /** Does nothing while it is watching. The client connects again by itself when etcd is back. */
  open(client: Etcd3, prefix: string): void {
    if (this.#watcher !== null) return
    const watcher = client.watch().prefix(prefix).only('delete').watcher()
    this.#watcher = watcher
    watcher.on('delete', this.#onDeleted)
    // etcd has ended it, for instance because the revision it was at is no longer kept: the next call opens another one.
    watcher.on('error', () => this.#forget(watcher))
  }

  /** Waits no longer than `limitMs` for etcd to answer. */
  async close(limitMs: number): Promise<void> {
    const watcher = this.#watcher
    if (watcher === null) return
    this.#forget(watcher)
    await Promise.race([watcher.cancel().catch(() => {}), delay(limitMs, undefined, { ref: false })])
  }

  #forget(watcher: Watcher): void {
    if (this.#watcher === watcher) this.#watcher = null
  }
}
