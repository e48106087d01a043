/** The command line as a user starts it: a process of its own, looked at from outside. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../../packages/cli/src/main.ts', import.meta.url))

export interface Finished {
  exitCode: number | null
  stdout: string
  stderr: string
  /** The lines of stdout, each as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: what was printed, looked into by a test
  json(): any[]
}

export interface Start {
  env?: Record<string, string>
  /** For stdin. */
  input?: string
  cwd?: string
}

/** Runs a command to its end. */
export async function carillon(args: readonly string[], options: Start = {}): Promise<Finished> {
  const started = startCarillon(args, options)
  started.child.stdin!.end(options.input ?? '')
  return started.ended
}

export interface Started {
  child: ChildProcess
  ended: Promise<Finished>
  /** What has been printed so far, on both. */
  output(): string
}

/** Starts a command in a process group of its own, as a shell does. */
export function startCarillon(args: readonly string[], options: Start = {}): Started {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: '1', ...options.env },
    cwd: options.cwd,
    detached: true,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const ended = new Promise<Finished>((done) => {
    child.once('close', (exitCode) => {
      const json = () =>
        stdout
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line))
      done({ exitCode, stdout, stderr, json })
    })
  })
  return { child, ended, output: () => stdout + stderr }
}
