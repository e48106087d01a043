/**
 * A server in a process of its own, on a free loopback port and in a folder of its own, for tests, chaos and the demo. It ends
 * with the program that started it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'

export interface RunningServer extends AsyncDisposable {
  /** For the client, with its scheme. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Where it keeps its data. */
  readonly folder: string
  /** `SIGKILL` unless given; resolves when it has ended. Its data stays. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Starts it again after `kill`, on the same port and data. */
  restart(): Promise<void>
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}

export interface ServerOptions {
  /** A new one that is removed at the end, unless given. */
  folder?: string
  port?: number
}

export interface ServerProgram {
  /** For people: `etcd`. */
  name: string
  /** What to do if the program is missing. */
  install: string
  command(place: { folder: string; port: number }): Promise<{ file: string; args: string[]; env?: NodeJS.ProcessEnv }>
  url(port: number): string
  /** Rejects until the server answers. */
  probe(port: number): Promise<void>
  readyWithinMs: number
}

const lastWords = 4_000
const probeEveryMs = 50

export async function startProgram(program: ServerProgram, options: ServerOptions = {}): Promise<RunningServer> {
  const ownFolder = options.folder === undefined
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), `carillon-${program.name}-`)))
  const port = options.port ?? (await freePort())
  let child = await launch(program, { folder, port })
  const killed = async (signal: NodeJS.Signals = 'SIGKILL') => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    // One that was frozen does not see the signal.
    child.kill('SIGCONT')
    child.kill(signal)
    await gone
  }
  let stopped: Promise<void> | null = null
  const stop = async () => {
    await killed()
    if (ownFolder) await rm(folder, { recursive: true, force: true })
  }
  const server: RunningServer = {
    url: program.url(port),
    port,
    folder,
    get pid() {
      return child.pid!
    },
    kill: killed,
    async restart() {
      child = await launch(program, { folder, port })
    },
    stop() {
      stopped ??= stop()
      return stopped
    },
    [Symbol.asyncDispose]: () => server.stop(),
  }
  return server
}

async function launch(program: ServerProgram, place: { folder: string; port: number }): Promise<ChildProcess> {
  const { file, args, env } = await program.command(place)
  const child = spawn(file, args, {
    cwd: place.folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const hear = (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-lastWords)
  }
  child.stdout!.on('data', hear)
  child.stderr!.on('data', hear)
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new Error(`${program.name} is not installed: ${program.install}`) : error),
    )
    child.once('exit', (code, signal) => reject(new Error(`${program.name} ended with ${signal ?? code}: ${said}`)))
  })
  failed.catch(() => {})
  const latest = performance.now() + program.readyWithinMs
  for (;;) {
    const answered = await Promise.race([program.probe(place.port).then(isTrue, isFalse), failed])
    if (answered) return child
    if (performance.now() > latest) {
      child.kill('SIGKILL')
      throw new Error(`${program.name} did not answer within ${program.readyWithinMs} ms: ${said}`)
    }
    await Promise.race([after(probeEveryMs), failed])
  }
}

const isTrue = () => true
const isFalse = () => false

/** Free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
