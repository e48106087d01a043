/** PgBouncer as Debian packages it, before a server of the run, with connections lent by the transaction or the session. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accountFor } from '../../packages/embedded/src/account.ts'
import { freePort, isPortFree } from '../../packages/embedded/src/port.ts'
import { poll } from '../../packages/embedded/src/waiting.ts'
import { requireStock } from './stock-postgres.ts'

const program = '/usr/sbin/pgbouncer'

export interface PgBouncer {
  readonly port: number
  /** The URL of the same database through it. */
  through(url: string): string
  stop(): Promise<void>
}

export async function startPgBouncer(server: string, poolMode: 'transaction' | 'session'): Promise<PgBouncer> {
  requireStock(program)
  const folder = await mkdtemp(join(tmpdir(), 'carillon-pgbouncer-'))
  const port = await freePort()
  const { port: serverPort, username, password } = new URL(server)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
* = host=127.0.0.1 port=${serverPort} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
max_client_conn = 1000
default_pool_size = 15
server_idle_timeout = 5
`,
    { mode: 0o600 },
  )
  // It refuses to run as root, as PostgreSQL does.
  const account = await accountFor({ path: folder, cluster: folder } as never)
  if (account) for (const path of [folder, file]) await chown(path, account.uid, account.gid)
  const child = spawn(program, ['-q', file], { ...account, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  // It must not outlive a run that is interrupted.
  const onExit = () => child.kill('SIGKILL')
  process.once('exit', onExit)
  const said: string[] = []
  child.stderr.on('data', (text) => said.push(String(text)))
  const stop = async () => {
    process.off('exit', onExit)
    await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  const listens = await poll(async () => ((await isPortFree(port)) ? undefined : true), { everyMs: 50, forMs: 10_000 })
  if (!listens) {
    await stop()
    throw new Error(`PgBouncer did not start: ${said.join('')}`)
  }
  return { port, stop, through: (url) => withPort(url, port) }
}

export function withPort(text: string, port: number): string {
  const url = new URL(text)
  url.port = `${port}`
  return url.href
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await gone
  clearTimeout(late)
}
