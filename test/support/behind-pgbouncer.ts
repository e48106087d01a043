/**
 * For the project that runs the integration suite behind PgBouncer: every Database that a test opens on the server of the run
 * in its own process, a node's among them, has its statements go through PgBouncer, and its sessions go to the server.
 * Clients of the tests themselves, and programs that they start, go to the server directly.
 */
import { inject, vi } from 'vitest'
import type { DatabaseOptions } from '../../packages/server/src/store/database.ts'
import { withPort } from './pgbouncer.ts'

vi.mock(import('../../packages/server/src/store/database.ts'), async (importOriginal) => {
  const original = await importOriginal()
  class Database extends original.Database {
    constructor(options: DatabaseOptions) {
      super(behindPgBouncer(options))
    }
  }
  return { ...original, Database }
})

function behindPgBouncer(options: DatabaseOptions): DatabaseOptions {
  const ours = new URL(options.url).port === new URL(inject('postgresUrl')).port
  if (!ours || options.directUrl !== undefined) return options
  return { ...options, url: withPort(options.url, inject('pgbouncerPort')), directUrl: options.url }
}
