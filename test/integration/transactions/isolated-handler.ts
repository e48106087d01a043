/** Runs in a thread of its own: leaves a row in `effects` and completes in the same transaction. */
import type { HandlerContext } from '@carillon/server'
import pg from 'pg'

export default async function settle(ctx: HandlerContext<{ databaseUrl: string }>): Promise<string> {
  const client = new pg.Client({ connectionString: ctx.payload.databaseUrl })
  await client.connect()
  try {
    await client.query('begin')
    await client.query('insert into effects values ($1, $2)', [ctx.executionId, ctx.attempt])
    await ctx.completeIn(client, 'from a thread')
    await client.query('commit')
  } finally {
    await client.end()
  }
  return 'ignored'
}
