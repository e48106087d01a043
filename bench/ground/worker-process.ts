/**
 * A remote worker in a process of its own, as it is shipped. Its handlers do nothing but count, and keep when they began
 * if asked to. It says how far it is some fifty times a second.
 */
import { createWorker, defineHandler, type HandlerContext, implementHandler } from '@carillon/sdk'
import { monotonicMs, wallMs } from '../measure/clock.ts'
import type { Run } from './ground.ts'

export interface WorkerProcessOptions {
  urls: string[]
  token: string
  pool: string
  handlers: string[]
  concurrency?: number
  record: boolean
}

export type WorkerProcessWord =
  /** `at`, by the monotonic clock: so many had begun, so many were held. */
  { what: 'count'; begun: number; held: number; at: number } | { what: 'runs'; runs: Run[] } | { what: 'stopped' }

const sayEveryMs = 20

const { urls, token, pool, handlers, concurrency, record } = JSON.parse(process.argv[2]!) as WorkerProcessOptions
let begun = 0
let runs: Run[] = []

const note = ({ executionId, dueAt }: HandlerContext): null => {
  begun++
  if (record) {
    runs.push({ executionId, dueAt: dueAt.getTime(), startedAt: wallMs(), startedMonotonic: monotonicMs() })
  }
  return null
}

const worker = createWorker({
  urls,
  token,
  handlers: handlers.map((name) => implementHandler(defineHandler({ name, pool }), note, { concurrency })),
})

const say = (word: WorkerProcessWord) => void process.send!(word)

process.on('message', (asked: 'runs' | 'stop') => {
  if (asked === 'stop') void worker.stop().then(() => say({ what: 'stopped' }))
  else {
    say({ what: 'runs', runs })
    runs = []
  }
})

await worker.start()
process.send!('started')
let said = ''
setInterval(() => {
  const { prefetched, running, reporting } = worker.stats()
  const held = prefetched + running + reporting
  const now = `${begun} ${held}`
  if (now === said) return
  said = now
  say({ what: 'count', begun, held, at: monotonicMs() })
}, sayEveryMs)
