/**
 * Load in a closed loop: so many connections, each sending its next request when the last one was answered. The first
 * seconds are not measured; every answer of the whole run is counted by status, so that it can be held against the ledger.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { LoadControl } from '../ground/ground.ts'
import { quantiles } from '../measure/quantiles.ts'
import { type RawAnswer, RawConnection } from './raw-connection.ts'

export interface LoopOptions {
  url: string
  connections: number
  /** Not measured. */
  warmUpSec: number
  seconds: number
}

export interface Requests {
  /** The text of the next request. `subject` comes back with its answer. */
  next(): { request: string; subject: string }
  /** Looks at an answer; throws if it is not what was asked for. */
  check(answer: RawAnswer, subject: string): void
}

/** What it says meanwhile. */
export interface LoopWord {
  phase: 'WARM_UP' | 'MEASURING' | 'ENDING'
  answered: number
}

export interface LoopAnswer {
  /** Answers of the whole run, by status. */
  statuses: Record<string, number>
  /** Answers in the measured time, and that time. */
  answered: number
  seconds: number
  /** Of those answers: from before the request was written until the answer was whole. */
  p50Ms: number
  p99Ms: number
  maxMs: number
}

const wordEveryMs = 1_000

export async function closedLoop(
  options: LoopOptions,
  requests: Requests,
  { signal, say }: LoadControl,
): Promise<LoopAnswer> {
  const { promise: failed, reject: fail } = Promise.withResolvers<never>()
  failed.catch(() => {})
  const sleep = (seconds: number) => Promise.race([failed, after(seconds * 1_000, undefined, { signal })])
  const opening = Array.from({ length: options.connections }, () => RawConnection.open(options.url, fail))
  const connections = await Promise.all(opening)
  const statuses: Record<string, number> = {}
  const latenciesMs: number[] = []
  let answered = 0
  let phase: LoopWord['phase'] = 'WARM_UP'

  const drive = (connection: RawConnection): Promise<void> =>
    new Promise((done) => {
      let subject: string
      let sentAt: number
      const send = () => {
        const next = requests.next()
        subject = next.subject
        sentAt = performance.now()
        connection.send(next.request, receive)
      }
      const receive = (answer: RawAnswer) => {
        if (phase === 'MEASURING') latenciesMs.push(performance.now() - sentAt)
        answered++
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
        try {
          requests.check(answer, subject)
        } catch (error) {
          fail(error)
          return
        }
        if (phase === 'ENDING') done()
        else send()
      }
      send()
    })

  const tell = () => say({ phase, answered } satisfies LoopWord)
  const enter = (next: LoopWord['phase']) => {
    phase = next
    tell()
  }
  const telling = setInterval(tell, wordEveryMs)
  try {
    const driven = connections.map(drive)
    await sleep(options.warmUpSec)
    enter('MEASURING')
    const from = performance.now()
    await sleep(options.seconds)
    enter('ENDING')
    const seconds = (performance.now() - from) / 1_000
    await Promise.race([failed, Promise.all(driven)])
    const [p50Ms, p99Ms, maxMs] = quantiles(latenciesMs, [0.5, 0.99, 1]) as [number, number, number]
    return { statuses, answered: latenciesMs.length, seconds, p50Ms, p99Ms, maxMs }
  } finally {
    clearInterval(telling)
    for (const connection of connections) connection.close()
  }
}
