/** The PostgreSQL of a run: the one Carillon brings, with the settings it ships, and databases on it. */
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../packages/embedded/src/index.ts'
import { poll } from '../../packages/embedded/src/waiting.ts'

export interface Server {
  /** Of its own database. */
  url: string
  pid: number
  version: string
  /** An empty database, or a copy of one nobody is connected to. Answers its URL. */
  create(name: string, template?: string): Promise<string>
  drop(name: string): Promise<void>
  stop(): Promise<void>
}

const inUse = '55006'

export async function startServer(folder: string): Promise<Server> {
  const { url, pid, stop } = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
  const run = (sql: string) => withClient(url, (client) => client.query(sql))
  const { rows } = await run('show server_version')
  return {
    url,
    pid,
    version: rows[0].server_version,
    async create(name, template) {
      const copied = template === undefined ? '' : ` template ${template} strategy file_copy`
      // The sessions of whoever filled the template may still be on their way out.
      const made = await poll(() => run(`create database ${name}${copied}`).catch(unlessInUse), {
        everyMs: 20,
        forMs: 10_000,
      })
      if (!made) throw new Error(`somebody stays connected to ${template}`)
      const its = new URL(url)
      its.pathname = `/${name}`
      return its.href
    },
    drop: async (name) => void (await run(`drop database if exists ${name} with (force)`)),
    stop,
  }
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function unlessInUse(error: { code?: string }): undefined {
  if (error.code === inUse) return undefined
  throw error
}
