/** One stock PostgreSQL 15 for the whole run; test files take databases from it with `createDatabase`. */
import type { TestProject } from 'vitest/node'
import { startStockPostgres } from './stock-postgres.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startStockPostgres()
  project.provide('postgresUrl', server.url)
  return () => server.stop()
}
