/** A part of the fleet: many workers in one process, which grows and shrinks as its parent says. */
import { type FleetCounts, type FleetOptions, FleetWorker } from './fleet-worker.ts'

export interface FleetProcessOptions extends FleetOptions {
  name: string
}

export interface FleetCommand {
  /** How many there are to be; left out: only what has been done is asked for. */
  size?: number
}

export type FleetWord = { ready: true } | { done: FleetCounts & { workers: number } } | { failed: string }

/** So many join or leave at a time. */
const atOnce = 32

if (import.meta.main) run(JSON.parse(process.argv[2]!) as FleetProcessOptions)

function run({ name, ...options }: FleetProcessOptions): void {
  const workers: FleetWorker[] = []
  const counts: FleetCounts = { reports: 0, polls: 0, lost: 0 }
  const say = (word: FleetWord) => process.send!(word)
  const fail = (error: unknown) => say({ failed: error instanceof Error ? error.message : String(error) })
  let joined = 0

  const resize = async (size: number) => {
    while (workers.length > size)
      await Promise.all(workers.splice(Math.max(size, workers.length - atOnce)).map((w) => w.leave()))
    while (workers.length < size) {
      const more = Array.from({ length: Math.min(atOnce, size - workers.length) }, () => {
        return new FleetWorker(options, counts, fail)
      })
      await Promise.all(more.map((worker) => worker.join(`${name} ${++joined}`)))
      for (const worker of more) worker.wait().catch(fail)
      workers.push(...more)
    }
  }
  const obey = async ({ size }: FleetCommand) => {
    if (size !== undefined) await resize(size)
    say({ done: { ...counts, workers: workers.length } })
  }
  process.on('message', (command: FleetCommand) => void obey(command).catch(fail))
  say({ ready: true })
}
