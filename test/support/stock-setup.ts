/**
 * One PostgreSQL with the settings it ships with for all test files of a project; they take databases from it with
 * `createDatabase`. The project's name says which: Debian's for 15, from npm for the others, which Debian does not have.
 */
import type { TestProject } from 'vitest/node'
import { packagedBinaries } from './postgres.ts'
import { debian15, startStockPostgres } from './stock-postgres.ts'

const binaries: Record<string, string> = {
  'postgresql-15': debian15,
  'postgresql-16': packagedBinaries(16),
  'postgresql-17': packagedBinaries(17),
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startStockPostgres(binaries[project.name])
  project.provide('postgresUrl', server.url)
  return () => server.stop()
}
