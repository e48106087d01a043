/**
 * A real PostgreSQL as a child process, for the zero set-up mode and for tests: the same engine as in production, with
 * the same durability. What must stay true:
 *
 * - One server per data directory, ever: see claim.ts and predecessor.ts.
 * - No server outlives the process that started it, however that ends: see server-process.ts.
 * - Starting ends with a server that answers queries, or with EMBEDDED_UNAVAILABLE that says why and what to do, within
 *   bounded time. Nothing is left running then.
 */
import './node-version.ts'

import { accountFor } from './account.ts'
import { prepareBinaries } from './binaries.ts'
import { claimDataDirectory } from './claim.ts'
import { dataDirectory, enterDataDirectory, hasCluster, readCredentials, settleOwnership } from './data-directory.ts'
import { ensureDatabase } from './database.ts'
import { unavailable } from './failure.ts'
import { createCluster } from './initdb.ts'
import { launch } from './launch.ts'

export { attachEmbeddedPostgres } from './attach.ts'
export { claimDataDirectory } from './claim.ts'

export interface EmbeddedPostgresOptions {
  /** Where the data lives; created if missing. */
  dataDir: string
  /** A free one if not given. */
  port?: number
  /** Settings of postgresql.conf, passed on the command line. */
  settings?: Record<string, string>
  /** Folder with PostgreSQL's bin, lib and share; the package for this platform if not given. */
  binaries?: string
  /** Receives the lines of the server's log, which else go to `server.log` in the data directory. */
  log?: (line: string) => void
}

export interface EmbeddedPostgres {
  /** Of the database `carillon`, with the password. */
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly dataDir: string
  /** Shuts the server down and returns when it is gone. May be called again. */
  stop(): Promise<void>
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32')
    throw unavailable('The embedded PostgreSQL does not run on Windows', {
      hint: 'use WSL, or give Carillon the URL of a database',
    })
  const directory = dataDirectory(options.dataDir)
  await enterDataDirectory(directory)
  const release = await claimDataDirectory(directory.path)
  let server: Awaited<ReturnType<typeof launch>> | undefined
  try {
    const account = await accountFor(directory)
    const binaries = await prepareBinaries({ folder: options.binaries, account })
    if (await hasCluster(directory, binaries)) await settleOwnership(directory, account)
    else await createCluster(directory, { binaries, account, durable: options.settings?.fsync !== 'off' })
    const credentials = await readCredentials(directory)
    server = await launch({ ...options, directory, binaries, account, instance: credentials.instance })
    const { port, pid } = server
    const url = await ensureDatabase({ port, password: credentials.password })
    const { stop } = server
    let stopped: Promise<void> | undefined
    return {
      url,
      port,
      pid,
      dataDir: directory.path,
      stop: () => (stopped ??= stop().then(release)),
    }
  } catch (error) {
    await server?.stop()
    await release()
    throw error
  }
}
