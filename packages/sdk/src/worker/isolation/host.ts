/** A thread or process that runs a handler's module, seen from the worker. */
import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker as Thread } from 'node:worker_threads'
import type { ChildSetup, FromChild, ToChild } from './messages.ts'

export interface HandlerHost {
  send(message: ToChild): void
  /** Ends it, whatever it does. `ended` of its events follows. */
  kill(): void
}

export interface HostEvents {
  message(message: FromChild): void
  /** Called once: it is gone, and what is known of why. */
  ended(cause: { description: string; error?: unknown }): void
}

export interface HostOptions {
  setup: ChildSetup
  memoryMb: number | undefined
}

/** The entry beside this file: `.ts` in development, `.js` when built. */
function entry(name: 'thread-entry' | 'process-entry'): URL {
  return new URL(`./${name}${extname(new URL(import.meta.url).pathname)}`, import.meta.url)
}

export function startThread({ setup, memoryMb }: HostOptions, events: HostEvents): HandlerHost {
  const thread = new Thread(entry('thread-entry'), {
    workerData: setup,
    ...(memoryMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: memoryMb } }),
  })
  let error: unknown
  thread.on('message', (message: FromChild) => events.message(message))
  thread.on('error', (thrown) => {
    error = thrown
  })
  thread.once('exit', (code) => events.ended({ description: `The thread ended with exit code ${code}`, error }))
  return {
    send: (message) => thread.postMessage(message),
    kill: () => void thread.terminate(),
  }
}

export function startProcess({ setup, memoryMb }: HostOptions, events: HostEvents): HandlerHost {
  const inherited = process.execArgv.filter((argument) => !argument.startsWith('--inspect'))
  const child: ChildProcess = fork(fileURLToPath(entry('process-entry')), [JSON.stringify(setup)], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: memoryMb === undefined ? inherited : [...inherited, `--max-old-space-size=${memoryMb}`],
  })
  let over = false
  const ended: HostEvents['ended'] = (cause) => {
    if (over) return
    over = true
    events.ended(cause)
  }
  child.on('message', (message) => events.message(message as FromChild))
  child.once('error', (error) => {
    if (child.pid === undefined) ended({ description: 'The process could not be started', error })
  })
  child.once('exit', (code, signal) => {
    const how = signal === null ? `with exit code ${code}` : `by signal ${signal}`
    ended({ description: `The process was ended ${how}` })
  })
  return {
    send: (message) => {
      // If the channel is closed the process is ending, and `exit` says so.
      if (child.connected) child.send(message, () => {})
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
