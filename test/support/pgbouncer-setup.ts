/** A stock PostgreSQL 15 for the whole run, and PgBouncer in transaction mode before it. */
import type { TestProject } from 'vitest/node'
import { startPgBouncer } from './pgbouncer.ts'
import { startStockPostgres } from './stock-postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    pgbouncerPort: number
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startStockPostgres()
  const pgbouncer = await startPgBouncer(server.url, 'transaction')
  project.provide('postgresUrl', server.url)
  project.provide('pgbouncerPort', pgbouncer.port)
  return async () => {
    await pgbouncer.stop()
    await server.stop()
  }
}
