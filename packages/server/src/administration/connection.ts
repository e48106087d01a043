/** The database as an operator reaches it: by URL, or through a data directory, whether or not a node runs on it. */
import { CarillonError } from '@carillon/contract'
import { loadEmbedded } from '../embedded.ts'
import { Database } from '../store/database.ts'
import { requireSessions } from '../store/pooling.ts'

export interface DatabasePlace {
  databaseUrl?: string
  /** If that leads to PgBouncer in transaction mode: a URL of PostgreSQL itself, which is then used for everything. */
  directUrl?: string
  /** A data directory of the embedded PostgreSQL. */
  dataDir?: string
}

/** Runs `work` on the database; what had to be started for it is stopped afterwards. */
export async function onDatabase<T>(
  place: DatabasePlace,
  work: (database: Database, url: string) => Promise<T>,
): Promise<T> {
  const reached = await reachDatabase(place)
  const { url } = reached
  const database = new Database({
    url,
    maxConnections: 2,
    statementTimeoutMs: 60_000,
    applicationName: 'carillon administration',
  })
  try {
    return await work(database, url)
  } finally {
    await database.end()
    await reached[Symbol.asyncDispose]()
  }
}

/** The database of a place, reachable until it is released. */
export interface ReachedDatabase extends AsyncDisposable {
  readonly url: string
}

export async function reachDatabase({ databaseUrl, directUrl, dataDir }: DatabasePlace): Promise<ReachedDatabase> {
  if ((databaseUrl === undefined) === (dataDir === undefined))
    throw invalid(
      'exactly one of a database and a data directory is needed',
      '--database-url postgres://… or --data ./data',
    )
  if (databaseUrl !== undefined && !URL.canParse(databaseUrl))
    throw invalid('databaseUrl is not a URL', 'postgres://user:password@host:5432/database')
  if (dataDir !== undefined) return reachEmbedded(dataDir)
  const url = directUrl ?? databaseUrl!
  await requireSessions(url, directUrl === undefined ? '/databaseUrl' : '/directUrl')
  return { url, [Symbol.asyncDispose]: async () => {} }
}

async function reachEmbedded(dataDir: string): Promise<ReachedDatabase> {
  const { attachEmbeddedPostgres, startEmbeddedPostgres } = await loadEmbedded()
  const running = await attachEmbeddedPostgres(dataDir)
  if (running !== null) return { url: running, [Symbol.asyncDispose]: async () => {} }
  const { url, stop } = await startEmbeddedPostgres({ dataDir })
  return { url, [Symbol.asyncDispose]: stop }
}

function invalid(message: string, example: string): CarillonError {
  return new CarillonError('CONFIG_INVALID', { pointer: '/databaseUrl', message, hint: `Give ${example}` })
}
