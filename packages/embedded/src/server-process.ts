/**
 * The running server and the life line that ties it to this process. A small shell stands between the two: it starts
 * the server and reads from a pipe whose other end only this process holds. When that end closes, because `stop` closed
 * it or because this process was killed, the shell stops the server: fast (SIGINT, again and again, since one that comes
 * before the server listens is lost), after 5 s immediate (SIGQUIT), after 15 s SIGKILL. So there is one way to stop,
 * and a killed process leaves no server behind. Being the server's parent, the shell never signals a stranger who got
 * its number.
 *
 * Both live in a session of their own: Ctrl-C in a terminal reaches this process only, which can finish its work with
 * the database before it stops it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { unavailable } from './failure.ts'
import type { FolderAccess } from './folder-access.ts'
import { birthOf } from './processes.ts'
import type { ServerLog } from './server-log.ts'
import { pause } from './waiting.ts'

const SHELL_PATH = '/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin'
const SUPERVISOR = `
trap '' HUP INT TERM
exec 4<&0 </dev/null
"$@" 4<&- >&2 &
server=$!
echo "$server"
exec >&2
{
  exec 3<&- >/dev/null 2>&1
  read -r line <&4
  ticks=0
  while kill -INT "$server"; do
    ticks=$((ticks + 1))
    case $ticks in 50) kill -QUIT "$server" ;; 150) kill -KILL "$server" ;; 200) exit ;; esac
    sleep 0.1
  done
} &
watch=$!
exec 4<&-
wait "$server"
status=$?
kill -KILL "$watch" 2>/dev/null
wait "$watch" 2>/dev/null
exit "$status"
`

export interface ServerCommand {
  binaries: Binaries
  account: Account | undefined
  access: FolderAccess
  settings: Record<string, string>
  log: ServerLog
}

export class ServerProcess {
  readonly pid: number
  /** Settles when the server has ended, with what it ended with. */
  readonly exited: Promise<number | string>
  readonly #shell: ChildProcess

  private constructor(shell: ChildProcess, pid: number, exited: Promise<number | string>) {
    this.#shell = shell
    this.pid = pid
    this.exited = exited
  }

  static async spawn({ binaries, account, access, settings, log }: ServerCommand): Promise<ServerProcess> {
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const command = [join(binaries.folder, 'bin', 'postgres'), '-D', access.path, ...flags]
    const shell = spawn('/bin/sh', ['-c', SUPERVISOR, 'carillon-postgres', ...command], {
      ...account,
      cwd: '/',
      env: { LC_ALL: 'C', TZ: 'UTC', PATH: SHELL_PATH },
      detached: true,
      stdio: ['pipe', 'pipe', log.target, access.handle?.fd ?? 'ignore'],
    })
    const exited = new Promise<number | string>((done) => {
      shell.once('error', (error) => done(error.message))
      shell.once('exit', (code, signal) => done(code ?? signal ?? 'unknown'))
    })
    shell.stdin?.on('error', () => {}) // The shell went first; `exited` tells.
    if (shell.stderr) log.read(shell.stderr)
    const pid = await Promise.race([firstLine(shell.stdout as Readable), exited.then(() => undefined)])
    if (pid === undefined) {
      const as = account ? ` as uid ${account.uid}` : ''
      throw unavailable(`PostgreSQL could not be started${as} (${await exited})`, {
        tail: await log.tail(),
        hint: 'start Carillon as an ordinary user, or give it the URL of a database',
      })
    }
    const server = new ServerProcess(shell, Number(pid), exited)
    server.#release()
    return server
  }

  readonly stop = async (): Promise<void> => {
    this.#shell.ref()
    this.#shell.stdin?.destroy()
    await this.exited
    // The shell waits for the server; if the shell alone was killed, its watcher still ends the server.
    while ((await birthOf(this.pid)) !== undefined) await pause(20)
  }

  /** A running server does not keep this process alive. */
  #release(): void {
    this.#shell.unref()
    for (const stream of [this.#shell.stdin, this.#shell.stdout, this.#shell.stderr])
      (stream as { unref?(): void } | null)?.unref?.()
  }
}

async function firstLine(stream: Readable): Promise<string | undefined> {
  for await (const line of createInterface({ input: stream })) return line
  return undefined
}
