import { PostgresStatusReads } from '../../packages/server/src/status-reads/postgres.ts'
import { describeStatusReads } from './status-reads.ts'

describeStatusReads('PostgreSQL', async ({ database }) => ({
  reads: new PostgresStatusReads(database),
  async dispose() {},
}))
