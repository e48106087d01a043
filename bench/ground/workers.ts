/** Worker processes as a scenario sees them: one count, one list of runs, one end. */
import type { ChildProcess } from 'node:child_process'
import type { Children } from './children.ts'
import type { Run, Workers } from './ground.ts'
import type { WorkerProcessOptions, WorkerProcessWord } from './worker-process.ts'

interface Progress {
  begun: number
  held: number
  at: number
}

export async function startWorkers(
  children: Children,
  checkout: URL,
  count: number,
  options: WorkerProcessOptions,
): Promise<Workers> {
  const program = new URL('bench/ground/worker-process.ts', checkout)
  const started = await Promise.all(
    Array.from({ length: count }, () => children.start<'started'>('worker', program, options)),
  )
  const processes = started.map(({ child }) => child)
  const progress = new Map<ChildProcess, Progress>(processes.map((child) => [child, { begun: 0, held: 0, at: 0 }]))
  const watchers = new Set<() => void>()
  const begun = () => sum([...progress.values()].map((each) => each.begun))
  for (const child of processes) {
    child.on('message', (word: WorkerProcessWord) => {
      if (word.what !== 'count') return
      progress.set(child, word)
      for (const look of watchers) look()
    })
  }

  /** Resolves when the condition holds; a look is taken whenever a worker says how far it is. */
  const until = (holds: () => boolean, what: string, withinMs: number) =>
    new Promise<void>((resolve, reject) => {
      const settle = (end: () => void) => {
        watchers.delete(look)
        clearTimeout(timer)
        end()
      }
      const look = () => holds() && settle(resolve)
      const timer = setTimeout(
        () => settle(() => reject(new Error(`${begun()} of ${what} within ${withinMs} ms`))),
        withinMs,
      )
      watchers.add(look)
      look()
    })

  const stop = async () => {
    await Promise.all(processes.filter(isAlive).map((child) => ask(child, 'stop', 'stopped')))
    await Promise.all(processes.map((child) => children.end(child)))
  }

  return {
    children: processes,
    count: begun,
    reached: (wanted, withinMs) => until(() => begun() >= wanted, `${wanted} handlers began`, withinMs),
    async finished(wanted, withinMs) {
      const holds = () => begun() >= wanted && [...progress.values()].every(({ held }) => held === 0)
      await until(holds, `${wanted} executions ended`, withinMs)
      return Math.max(...[...progress.values()].map(({ at }) => at))
    },
    async runs() {
      const answers = await Promise.all(processes.filter(isAlive).map((child) => ask(child, 'runs', 'runs')))
      return answers.flatMap((word) => (word.what === 'runs' ? word.runs : ([] as Run[])))
    },
    stop,
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((child) => children.end(child)))
    },
  }
}

/** Rejects if the process ends before it answers. */
function ask(
  child: ChildProcess,
  what: 'runs' | 'stop',
  answer: WorkerProcessWord['what'],
): Promise<WorkerProcessWord> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`a worker ended before it said "${answer}"`))
    const onMessage = (word: WorkerProcessWord) => {
      if (word.what !== answer) return
      child.off('exit', onExit)
      child.off('message', onMessage)
      resolve(word)
    }
    child.on('exit', onExit)
    child.on('message', onMessage)
    child.send(what)
  })
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
