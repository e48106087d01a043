import { PostgresPoolQueue } from '../../packages/server/src/queue/postgres.ts'
import { describeQueue } from './queue.ts'

describeQueue('PostgreSQL', async (_store, _pool, clock) => ({
  queue: new PostgresPoolQueue({ clock, onLeased() {} }),
  async dispose() {},
}))
