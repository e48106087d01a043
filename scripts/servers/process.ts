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
  /** In a process group of its own: Ctrl-C in a terminal does not reach it. */
  ownGroup?: boolean
  /** Ends the start; a server that has started stays. */
  signal?: AbortSignal
}

interface Place extends Pick<ServerOptions, 'ownGroup' | 'signal'> {
  folder: string
  port: number
}

export interface ServerProgram {
  /** For people: `etcd`. */
  name: string
  /** What to do if the program is missing. */
  install: string
  command(place: Place): Promise<{ file: string; args: string[]; env?: NodeJS.ProcessEnv }>
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
  const { ownGroup, signal } = options
  const removeFolder = async () => {
    if (ownFolder) await rm(folder, { recursive: true, force: true })
  }
  let child = await launch(program, { folder, port, ownGroup, signal }).catch(async (error) => {
    await removeFolder()
    throw error
  })
  const killed = async (how: NodeJS.Signals = 'SIGKILL') => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    // One that was frozen does not see the signal.
    child.kill('SIGCONT')
    child.kill(how)
    await gone
  }
  let stopped: Promise<void> | null = null
  const stop = async () => {
    await killed()
    await removeFolder()
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
      child = await launch(program, { folder, port, ownGroup })
    },
    stop() {
      stopped ??= stop()
      return stopped
    },
    [Symbol.asyncDispose]: () => server.stop(),
  }
  return server
}

async function launch(program: ServerProgram, place: Place): Promise<ChildProcess> {
  const { signal } = place
  const { file, args, env } = await program.command(place)
  signal?.throwIfAborted()
  const child = spawn(file, args, {
    cwd: place.folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: place.ownGroup,
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
  signal?.addEventListener('abort', end)
  const latest = performance.now() + program.readyWithinMs
  for (;;) {
    const answered = await Promise.race([program.probe(place.port).then(isTrue, isFalse), failed])
    if (answered) {
      signal?.removeEventListener('abort', end)
      return child
    }
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
