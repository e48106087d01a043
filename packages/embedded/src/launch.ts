/**
 * Starts the server on a cluster that is there, and returns when it accepts connections. What passes by itself is tried
 * again for a few seconds: a free port that another process took in between, and the last processes of a server that was
 * killed and still hold its shared memory. Everything else ends the attempt at once with the server's own words.
 */
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import type { DataDirectory } from './data-directory.ts'
import { hintFor, unavailable } from './failure.ts'
import { openFolderAccess } from './folder-access.ts'
import { freePort, HOST, isPortFree } from './port.ts'
import { instanceSetting, readPostmasterFile, waitForPredecessor } from './predecessor.ts'
import { openServerLog } from './server-log.ts'
import { ServerProcess } from './server-process.ts'
import { serverSettings } from './settings.ts'
import { pause, poll } from './waiting.ts'

/** Recovery after a crash replays at most a few GB of WAL. */
const LONGEST_START_MS = 120_000
const RETRY_FOR_MS = 5_000

export interface LaunchOptions {
  directory: DataDirectory
  binaries: Binaries
  account: Account | undefined
  instance: string
  port?: number
  settings?: Record<string, string>
  log?: (line: string) => void
}

export interface Launched {
  port: number
  pid: number
  stop(): Promise<void>
}

export async function launch(options: LaunchOptions): Promise<Launched> {
  const { directory, instance } = options
  const crashed = await waitForPredecessor(directory, instance)
  if (options.port !== undefined && !(await isPortFree(options.port)))
    throw unavailable(`Port ${options.port} of ${HOST} is in use`, { hint: 'choose another port, or none' })
  const retryUntil = performance.now() + RETRY_FOR_MS
  for (;;) {
    const port = options.port ?? (await freePort())
    try {
      return await attempt({ ...options, port })
    } catch (error) {
      const passing = crashed || !(await isPortFree(port))
      if (!passing || performance.now() > retryUntil) throw error
      await pause(200)
    }
  }
}

async function attempt(options: LaunchOptions & { port: number }): Promise<Launched> {
  const { directory, binaries, account, port } = options
  const log = await openServerLog({ dataDir: directory.path, account, log: options.log })
  const access = await openFolderAccess(directory.cluster, account)
  const settings = { ...serverSettings(port, options.settings), ...instanceSetting(options.instance) }
  let server: ServerProcess | undefined
  try {
    server = await ServerProcess.spawn({ binaries, account, access, settings, log })
    await untilReady(server, directory, log.tail)
    const { pid, stop } = server
    return { port, pid, stop: () => stop().finally(() => log.close()) }
  } catch (error) {
    await server?.stop()
    await log.close()
    throw error
  } finally {
    await access.handle?.close()
  }
}

async function untilReady(server: ServerProcess, directory: DataDirectory, tail: () => Promise<string>): Promise<void> {
  let ended: number | string | undefined
  void server.exited.then((status) => {
    ended = status
  })
  const ready = await poll(
    async () => {
      if (ended !== undefined) return false
      const file = await readPostmasterFile(directory)
      return file?.pid === server.pid && file.status === 'ready' ? true : undefined
    },
    { everyMs: 10, forMs: LONGEST_START_MS },
  )
  if (ready) return
  const what =
    ready === false ? `ended while it started (${ended})` : `was not ready after ${LONGEST_START_MS / 1000} s`
  throw unavailable(`The embedded PostgreSQL ${what}`, { tail: await tail(), hint: await hintFor(directory.path) })
}
