/**
 * A worker over HTTP in a process of its own. Each run is appended to a file before the handler's work begins and after it has
 * ended, which survives kill -9. The time is the machine's, which is PostgreSQL's too.
 */
import { openSync, writeSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
import { createWorker, defineHandler, implementHandler, type StepContext } from '@carillon/sdk'
import type { Given, Run } from '../history.ts'

export interface WorkerProcessOptions {
  name: string
  urls: string[]
  token: string
  runsFile: string
  slots: number
}

export interface Work {
  ms: number
  /** Of a hundred attempts. */
  failPercent?: number
  /** Goes on though it is told to stop. */
  deaf?: boolean
}

export const work = defineHandler<Work>({ name: 'work' })

if (import.meta.main) await run(JSON.parse(process.argv[2]!) as WorkerProcessOptions)

async function run({ name, urls, token, runsFile, slots }: WorkerProcessOptions): Promise<void> {
  process.once('disconnect', () => process.exit(1))
  const file = openSync(runsFile, 'a')
  const handler = implementHandler(
    work,
    async ({ executionId, fence, attempt, payload, signal, dag }) => {
      const note = (what: Run['what'], more?: object) => {
        const text = more === undefined ? '' : ` ${JSON.stringify(more)}`
        writeSync(file, `${what} ${executionId} ${fence} ${attempt} ${Math.floor(Date.now())}${text}\n`)
      }
      note('BEGAN', dag === null ? undefined : givenTo(dag))
      const over = await after(payload.ms, true, payload.deaf ? {} : { signal }).catch(() => false)
      if (!over) {
        note('STOPPED')
        throw signal.reason
      }
      if (fails(executionId, attempt, payload.failPercent ?? 0)) {
        note('FAILED')
        throw new Error('it fails sometimes')
      }
      if (dag === null) {
        note('SUCCEEDED')
        return
      }
      const result = resultOf(dag.step, fence)
      note('SUCCEEDED', result)
      return result
    },
    { concurrency: slots },
  )
  const worker = createWorker({ name, urls, token, handlers: [handler] })
  await worker.start()
  process.send!('started')
}

/** What a step was told of its run; of each step it is after, how it ended and what it returned. */
function givenTo({ payload, results, states }: StepContext): Given {
  return { payload, results, states }
}

/** What conditions ask for, and lists are made of. */
function resultOf(step: string, fence: number) {
  const items = Array.from({ length: (fence >> 10) % 6 }, (_, i): Work & { of: number; i: number } => {
    return { of: fence, i, ms: 5 * i, failPercent: 10 }
  })
  return { step, fence, n: (fence >> 10) % 10, items }
}

/** The same attempt fails wherever it runs. */
function fails(executionId: string, attempt: number, percent: number): boolean {
  return (Number.parseInt(executionId.slice(-6), 16) + attempt * 37) % 100 < percent
}

export function parseRuns(worker: string, text: string): Run[] {
  // A line that was cut short by kill -9 was not written.
  const lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => {
    const [what, executionId, fence, attempt, at, ...rest] = line.split(' ') as [Run['what'], ...string[]]
    const run = {
      worker,
      what,
      executionId: executionId!,
      fence: Number(fence),
      attempt: Number(attempt),
      at: Number(at),
    }
    if (rest.length === 0) return run
    const more: unknown = JSON.parse(rest.join(' '))
    return what === 'BEGAN' ? { ...run, given: more as Given } : { ...run, result: more }
  })
}
