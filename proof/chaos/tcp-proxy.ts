/**
 * A way that can be cut. It stands between two processes and passes on what they say, until told otherwise:
 *
 * - `cut`: every connection is reset on both sides, as by a firewall that was restarted. New ones are let through.
 * - `hold`: nothing is passed on any more, and nobody is told. Connections stay open, new ones are accepted: as when a cable is
 *   pulled. `letGo` either passes on what was said meanwhile, late, or resets everything.
 */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

interface Pair {
  near: Socket
  /** Null: held before it was connected. */
  far: Socket | null
}

export class TcpProxy {
  readonly #server: Server
  readonly #target: () => number
  readonly #pairs = new Set<Pair>()
  #held = false

  private constructor(target: () => number) {
    this.#target = target
    this.#server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (near) =>
      this.#accept(near),
    )
  }

  /** `target`: the port to lead to, asked for every connection. All on loopback. */
  static async open(target: () => number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  get connections(): number {
    return this.#pairs.size
  }

  cut(): void {
    for (const pair of this.#pairs) this.#reset(pair)
  }

  hold(): void {
    this.#held = true
    for (const { near, far } of this.#pairs) {
      near.unpipe().pause()
      far?.unpipe().pause()
    }
  }

  letGo(how: 'PASS_ON' | 'RESET'): void {
    if (!this.#held) return
    this.#held = false
    if (how === 'RESET') this.cut()
    for (const pair of this.#pairs) {
      // One side gave up meanwhile, and the other was not told.
      if (pair.near.destroyed || pair.far?.destroyed) this.#reset(pair)
      else this.#join(pair)
    }
  }

  async close(): Promise<void> {
    this.#server.close()
    this.cut()
    if (this.#server.listening) await once(this.#server, 'close')
  }

  #accept(near: Socket): void {
    const pair: Pair = { near, far: null }
    this.#pairs.add(pair)
    this.#watch(near, pair)
    if (!this.#held) this.#join(pair)
  }

  #join(pair: Pair): void {
    if (pair.far === null) {
      pair.far = connect({ port: this.#target(), host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
      this.#watch(pair.far, pair)
    }
    pair.near.pipe(pair.far)
    pair.far.pipe(pair.near)
  }

  #watch(socket: Socket, pair: Pair): void {
    socket.on('error', () => {
      if (!this.#held) this.#reset(pair)
    })
    socket.on('close', () => {
      if (this.#held) return
      const other = socket === pair.near ? pair.far : pair.near
      // What was said before the end is still on its way out.
      if (other === null || other.destroyed) this.#pairs.delete(pair)
      else if (socket.errored) this.#reset(pair)
      else other.end()
    })
  }

  #reset(pair: Pair): void {
    this.#pairs.delete(pair)
    reset(pair.near)
    if (pair.far) reset(pair.far)
  }
}

/** A socket that is saying goodbye cannot be reset any more: Node would neither do it nor close it. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
