/**
 * One PostgreSQL 18 for the whole run; test files take databases from it with `createDatabase`. Commits are synchronous
 * as in production; only the disk is not waited for, since nothing here has to survive a power cut.
 */
import type { TestProject } from 'vitest/node'
import { startPostgres18 } from './postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres18()
  project.provide('postgresUrl', server.url)
  return () => server.stop()
}
