/**
 * A Redis of its own for BullMQ, from the system's package, in the benchmark's folder. It logs every write and forces the
 * log to disk once a second: what BullMQ's guide to production recommends. Snapshots, and rewrites of the log at a time of
 * its own choosing, are off: they would fall into somebody's turn.
 *
 * It does not outlive the benchmark, however that ends: a shell holds a pipe to it and ends the server when that closes.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as after } from 'node:timers/promises'
import { promisify } from 'node:util'

export interface RedisServer extends AsyncDisposable {
  url: string
  pid: number
}

const answersWithinMs = 10_000
const holder = 'redis-server "$@" >/dev/null 2>&1 & echo $!; cat >/dev/null; kill -9 $!'

/** `folder` is somebody else's to remove. */
export async function startRedis(folder: string): Promise<RedisServer> {
  await promisify(execFile)('redis-server', ['--version']).catch((cause) => {
    throw new Error('redis-server cannot be run: install it (Debian, Ubuntu: apt-get install redis-server)', { cause })
  })
  const dir = join(folder, 'redis')
  await mkdir(dir, { recursive: true })
  const port = await freePort()
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir,
    daemonize: 'no',
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
    save: '',
    'auto-aof-rewrite-percentage': '0',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const shell = spawn('sh', ['-c', holder, 'sh', ...args], { stdio: ['pipe', 'pipe', 'ignore'], detached: true })
  const [pid] = (await once(createInterface(shell.stdout), 'line')) as [string]
  const end = () => stop(shell)
  try {
    await answers(port)
  } catch (error) {
    await end()
    throw error
  }
  return { url: `redis://127.0.0.1:${port}`, pid: Number(pid), [Symbol.asyncDispose]: end }
}

async function stop(shell: ChildProcess): Promise<void> {
  if (shell.exitCode !== null || shell.signalCode !== null) return
  const gone = once(shell, 'exit')
  shell.stdin!.end()
  await gone
}

async function answers(port: number): Promise<void> {
  const until = performance.now() + answersWithinMs
  while (performance.now() < until) {
    const socket = connect(port, '127.0.0.1')
    const is = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (is) return
    await after(20)
  }
  throw new Error(`redis-server did not answer on port ${port} within ${answersWithinMs} ms`)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
