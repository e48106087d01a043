/**
 * Arbitrary rows in every queue table while tenants work.
 *
 *   npm run bad-rows -- [--rows 10000] [--tenants 100] [--seconds 120] [--seed 7] [--database-url postgres://…]
 *
 * Exits with 1 if work of a tenant was lost or late by more than 5 s, if a bad row is left in a queue, or if one that was set aside
 * is not named by the doctor.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '../../packages/embedded/src/index.ts'
import { runBadRows } from './run.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000' },
    tenants: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '120' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    'database-url': { type: 'string' },
  },
})

const mostLateMs = 5_000
const directory = await mkdtemp(join(tmpdir(), 'carillon-bad-rows-'))
const server = values['database-url'] ? null : await startEmbeddedPostgres({ dataDir: join(directory, 'data') })
try {
  const result = await runBadRows({
    databaseUrl: values['database-url'] ?? server!.url,
    rows: Number(values.rows),
    tenants: Number(values.tenants),
    seconds: Number(values.seconds),
    seed: Number(values.seed),
    settleSeconds: 300,
    log: console.log,
  })
  console.log(JSON.stringify(result, null, 2))
  const late = Math.max(result.worstLatenessMs, result.longestSilenceMs - 2_000) > mostLateMs
  const bad = late || result.lost > 0 || Object.keys(result.left).length > 0 || result.named !== result.quarantined
  console.log(bad ? `VIOLATED (seed ${result.seed})` : 'CLEAN')
  process.exitCode = bad ? 1 : 0
} finally {
  await server?.stop()
  await rm(directory, { recursive: true, force: true })
}
