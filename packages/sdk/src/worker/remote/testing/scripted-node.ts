/** A node on a real socket: the scripted transport behind the worker protocol, with the faults of a network before it. */
import { problem, type Scripted, ScriptedServer, type Seen } from '../../../http/testing/scripted-server.ts'
import { ScriptedTransport } from '../../testing/scripted-transport.ts'
import type { Cancellation, ReportedOutcome, WorkerReport } from '../../transport.ts'

type Verb = 'register' | 'lease' | 'report' | 'deregister'
/** Before anything happens, or after all was done. */
type Fault = { before: Scripted } | { after: Scripted }

export class ScriptedNode {
  readonly transport: ScriptedTransport
  readonly server: ScriptedServer
  readonly known = new Set<string>()
  heartbeatEveryMs = 5_000
  /** The tokens it lets in; null: everybody. */
  tokens: Set<string> | null = null
  readonly #faults = new Map<Verb, Fault[]>()
  readonly #untold: Cancellation[] = []
  #openLeases = new Set<AbortController>()

  constructor(transport = new ScriptedTransport()) {
    this.transport = transport
    this.server = new ScriptedServer((seen) => this.#answer(seen))
  }

  get url(): string {
    return this.server.url
  }

  /** What happens to the next request of a kind. */
  fault(verb: Verb, ...faults: Fault[]): void {
    this.#faults.set(verb, [...(this.#faults.get(verb) ?? []), ...faults])
  }

  bodies(verb: Verb): string[] {
    return this.server.seen.filter((seen) => verbOf(seen) === verb).map(({ body }) => body)
  }

  cancel(cancellation: Cancellation): void {
    this.#untold.push(cancellation)
    for (const lease of this.#openLeases) lease.abort()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server.die()
  }

  async #answer(seen: Seen): Promise<Scripted> {
    const verb = verbOf(seen)
    if (verb === null) return { status: 200, body: {} }
    const fault = this.#faults.get(verb)?.shift()
    if (fault && 'before' in fault) return fault.before
    const token = seen.headers.authorization?.replace('Bearer ', '') ?? ''
    if (this.tokens !== null && !this.tokens.has(token)) return problem(401, 'UNAUTHENTICATED')
    const answer = await this.#act(verb, seen)
    return fault && 'after' in fault ? fault.after : answer
  }

  async #act(verb: Verb, { path, body, gone }: Seen): Promise<Scripted> {
    const said = body === '' ? {} : JSON.parse(body)
    const workerId = path.split('/')[3] ?? said.workerId
    if (verb === 'register') {
      this.known.add(workerId)
      await this.transport.register(said)
      const times = { heartbeatEveryMs: this.heartbeatEveryMs, suspectAfterMs: 15_000, lostAfterMs: 30_000 }
      return { status: 201, body: { workerId, ...times, serverTime: this.transport.serverNow() } }
    }
    if (!this.known.has(workerId)) return problem(404, 'WORKER_UNKNOWN')
    if (verb === 'lease') {
      const ending = new AbortController()
      this.#openLeases.add(ending)
      let isGone = false
      void gone.then(() => {
        isGone = true
        ending.abort()
      })
      if (this.#untold.length > 0) ending.abort()
      const leased = await this.transport.lease({ workerId, prefetch: 0, ...said }, ending.signal)
      this.#openLeases.delete(ending)
      if (isGone) this.transport.offer(...leased.executions)
      return { body: { ...leased, cancellations: this.#untold.splice(0) } }
    }
    if (verb === 'report') return { body: await this.transport.report(reportOf(workerId, said)) }
    this.known.delete(workerId)
    await this.transport.deregister(workerId)
    return { status: 204 }
  }
}

export async function scriptedNode(transport?: ScriptedTransport): Promise<ScriptedNode> {
  const node = new ScriptedNode(transport)
  await node.server.listen()
  return node
}

function verbOf({ method, path }: Seen): Verb | null {
  if (path === '/v1/workers') return 'register'
  if (method === 'DELETE') return 'deregister'
  if (path.endsWith('/lease')) return 'lease'
  return path.endsWith('/report') ? 'report' : null
}

/** Values become text again, as the transport of the tests has them. */
function reportOf(workerId: string, said: Record<string, unknown[] | null | undefined>): WorkerReport {
  const texts = (each: unknown) => {
    const copy = { ...(each as Record<string, unknown>) }
    for (const name of ['result', 'progress']) if (name in copy) copy[name] = JSON.stringify(copy[name])
    return copy
  }
  return {
    workerId,
    outcomes: (said.outcomes ?? []).map(texts) as unknown as ReportedOutcome[],
    began: (said.began ?? []) as WorkerReport['began'],
    progress: (said.progress ?? []).map(texts) as unknown as WorkerReport['progress'],
    held: (said.held ?? null) as WorkerReport['held'],
  }
}
