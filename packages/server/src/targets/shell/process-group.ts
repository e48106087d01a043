/**
 * A program in a process group of its own. What must stay true: when `ended` resolves, nothing of the group lives any
 * more, whether the program ended by itself, was told to or was killed. What leaves the group by itself (setsid) is not
 * found; only the operator's own programs could do that.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

export interface ProcessOptions {
  path: string
  args: readonly string[]
  env: Record<string, string>
  input: string
  onOutput(stream: 'stdout' | 'stderr', chunk: Buffer): void
}

export interface ProcessEnd {
  code: number | null
  signal: NodeJS.Signals | null
}

export class ProcessGroup {
  readonly ended: Promise<ProcessEnd>
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  #killTimer: NodeJS.Timeout | null = null

  constructor({ path, args, env, input, onOutput }: ProcessOptions) {
    this.#child = spawn(path, args, { detached: true, stdio: ['pipe', 'pipe', 'pipe'], env, cwd: '/' })
    const child = this.#child
    child.stdout.on('data', (chunk: Buffer) => onOutput('stdout', chunk))
    child.stderr.on('data', (chunk: Buffer) => onOutput('stderr', chunk))
    // A program that does not read its input may close it.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    this.ended = new Promise((resolve, reject) => {
      child.once('error', (error) => {
        if (child.pid === undefined) reject(error)
      })
      // What it left behind holds its output open: `close` comes when that is gone too.
      child.once('exit', () => this.#signal('SIGKILL'))
      child.once('close', (code, signal) => resolve({ code, signal }))
    })
    this.ended.catch(() => {}).finally(() => clearTimeout(this.#killTimer ?? undefined))
  }

  /** Asks the whole group to end, and ends it after the grace. */
  stop(graceMs: number): void {
    if (this.#killTimer !== null) return
    this.#signal('SIGTERM')
    this.#killTimer = setTimeout(() => this.#signal('SIGKILL'), graceMs)
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      process.kill(-pid, signal)
    } catch {
      // The group is empty.
    }
  }
}
