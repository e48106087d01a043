import pg from 'pg'
import { unavailable } from './failure.ts'
import { SUPERUSER } from './initdb.ts'
import { HOST } from './port.ts'

export const DATABASE = 'carillon'
const UNKNOWN_DATABASE = '3D000'
const CONNECT_TIMEOUT_MS = 10_000

export interface Access {
  port: number
  password: string
}

/** The URL of Carillon's database on this server; the database is created if it is not there. */
export async function ensureDatabase(access: Access): Promise<string> {
  const url = urlOf(access, DATABASE)
  try {
    await query(url, 'select 1')
  } catch (error) {
    if ((error as { code?: string }).code !== UNKNOWN_DATABASE) throw refused(error)
    await query(urlOf(access, 'postgres'), `create database ${DATABASE}`).catch((cause) =>
      Promise.reject(refused(cause)),
    )
  }
  return url
}

export function urlOf({ port, password }: Access, database: string): string {
  return `postgres://${SUPERUSER}:${encodeURIComponent(password)}@${HOST}:${port}/${database}`
}

async function query(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  // The server may end the connection between two calls; the next one then fails. Without a listener the process would end.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

function refused(cause: unknown): Error {
  return unavailable(`The embedded PostgreSQL started but refused its first query: ${(cause as Error).message}`, {
    hint: 'the data may be damaged, or its password was changed by hand; restore it or choose an empty directory',
    cause,
  })
}
