import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCarillon, defineHandler } from '@carillon/server'
import pg from 'pg'
import { expect, it } from 'vitest'

const executions = 100_000
const batch = 1_000
const noop = defineHandler<{ n: number }>({ name: 'noop' })

it('runs 100,000 executions on an embedded PostgreSQL: none lost, each once, the ledger complete', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'carillon-throughput-'))
  const carillon = await createCarillon({ embedded: { dataDir }, logLevel: 'error' })
  try {
    const runs = new Uint8Array(executions)
    const all = Promise.withResolvers<void>()
    let done = 0
    carillon.handle(noop, { concurrency: 200 }, async (ctx) => {
      runs[ctx.payload.n]!++
      if (++done === executions) all.resolve()
    })
    await carillon.start()
    const began = performance.now()
    for (let n = 0; n < executions; n += batch) {
      await carillon.enqueueMany(
        noop,
        Array.from({ length: batch }, (_, i) => ({ n: n + i })),
        { tenant: `tenant-${(n / batch) % 10}` },
      )
    }
    await all.promise
    const seconds = (performance.now() - began) / 1_000
    console.log(`${executions} whole lives in ${seconds.toFixed(1)} s: ${Math.round(executions / seconds)}/s`)
    const url = carillon.databaseUrl
    const sql = new pg.Client(url)
    await sql.connect()
    // The last reports are still on their way when the last handler has returned.
    let row = { ended: 0 }
    do row = (await sql.query(counts)).rows[0]
    while (row.ended < executions)
    await sql.end()
    expect(row).toEqual({ ended: executions, succeeded: executions, attempts: executions, queued: 0, running: 0 })
    expect(runs.every((count) => count === 1)).toBe(true)
  } finally {
    await carillon.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}, 180_000)

const counts = `
  select count(*) filter (where state is not null)::int ended, count(*) filter (where state = 'SUCCEEDED')::int succeeded,
    sum(attempt)::int attempts, (select count(*) from carillon.ready)::int queued,
    (select count(*) from carillon.running)::int running
  from carillon.executions`
