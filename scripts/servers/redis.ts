/** Redis as Debian packages it, on a free port of the loopback interface, in a folder of its own. For tests and measurements. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, HOST } from '../../packages/embedded/src/port.ts'
import { poll } from '../../packages/embedded/src/waiting.ts'

const program = '/usr/bin/redis-server'
const startMs = 10_000

export interface RedisServer {
  url: string
  port: number
  pid: number
  /** Ends the process and waits until it is gone. Removes the folder, unless the caller named it. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface RedisOptions {
  /** Kept after a stop. A dump.rdb in it is loaded. */
  folder?: string
  port?: number
  /** More of its settings, such as `['--maxmemory', '1gb']`. Without any, nothing is written to disk. */
  args?: string[]
}

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const { folder, port, settings: place } = await placeOf(options)
  const settings = [...place, '--save', '', '--appendonly', 'no', ...(options.args ?? [])]
  return start(settings, { folder, port, keeps: options.folder !== undefined })
}

/** A sentinel that watches a master by this name and alone decides that it is gone, after a second. */
export async function startSentinel(master: RedisServer, name: string): Promise<RedisServer> {
  const { folder, port, settings } = await placeOf({})
  const file = join(folder, 'sentinel.conf')
  const watch = [
    `monitor ${name} ${HOST} ${master.port} 1`,
    `down-after-milliseconds ${name} 1000`,
    `failover-timeout ${name} 5000`,
  ]
  await writeFile(file, watch.map((line) => `sentinel ${line}\n`).join(''))
  return start([file, '--sentinel', ...settings], { folder, port, keeps: false })
}

async function placeOf(options: RedisOptions): Promise<{ folder: string; port: number; settings: string[] }> {
  if (!existsSync(program))
    throw new Error(`${program} is missing: apt-get install --no-install-recommends redis-server`)
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'carillon-redis-')))
  const port = options.port ?? (await freePort())
  return { folder, port, settings: ['--port', `${port}`, '--bind', HOST, '--dir', folder] }
}

async function start(
  settings: string[],
  { folder, port, keeps }: { folder: string; port: number; keeps: boolean },
): Promise<RedisServer> {
  const child = spawn(program, settings, { stdio: ['ignore', 'pipe', 'pipe'] })
  // It must not outlive a run that is interrupted.
  const onExit = () => child.kill('SIGKILL')
  process.once('exit', onExit)
  const said: string[] = []
  for (const output of [child.stdout, child.stderr]) output.on('data', (text) => said.push(String(text)))
  const stop = async () => {
    process.off('exit', onExit)
    await end(child)
    if (!keeps) await rm(folder, { recursive: true, force: true })
  }
  const ask = async () => (hasEnded(child) ? 'ENDED' : (await answersPing(port)) ? 'READY' : undefined)
  if ((await poll(ask, { everyMs: 20, forMs: startMs })) !== 'READY') {
    await stop()
    throw new Error(`Redis did not start on port ${port}: ${said.join('').slice(-2_000)}`)
  }
  return { url: `redis://${HOST}:${port}`, port, pid: child.pid!, stop, [Symbol.asyncDispose]: stop }
}

/** False too while it loads its data. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, HOST, () => socket.write('PING\r\n'))
    const answer = (isThere: boolean) => {
      socket.destroy()
      resolve(isThere)
    }
    socket.setTimeout(1_000, () => answer(false))
    socket.once('data', (text) => answer(String(text).startsWith('+PONG')))
    socket.once('error', () => answer(false))
    socket.once('close', () => answer(false))
  })
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const gone = once(child, 'exit')
  // A test may have stopped it.
  child.kill('SIGCONT')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await gone
  clearTimeout(late)
}
