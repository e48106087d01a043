/** The database goes and comes back while handlers run: nobody is declared lost, and nothing acknowledged is missing. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Carillon, createCarillon, defineHandler, type ExecutionHandle } from '@carillon/server'
import { afterEach, expect, it } from 'vitest'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../packages/embedded/src/index.ts'
import { quickTimes } from '../../support/carillon.ts'
import { until } from '../../support/until.ts'

const settings = { fsync: 'off', full_page_writes: 'off' }
const gated = defineHandler<{ gate: 'meanwhile' | 'afterwards' }>({ name: 'gated' })
const quick = defineHandler<{ n: number }>({ name: 'quick' })
const disposals: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose()
})

it.each(['stopped', 'killed'])('a database that is %s and started again', async (how) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'carillon-restart-'))
  disposals.push(() => rm(dataDir, { recursive: true, force: true }))
  let server = await startEmbeddedPostgres({ dataDir, settings })
  disposals.push(() => server.stop())
  const gates = { meanwhile: Promise.withResolvers<void>(), afterwards: Promise.withResolvers<void>() }
  const began: string[] = []
  const runs = new Map<number, number>()
  const prepare = (carillon: Carillon) => {
    carillon.handle(gated, async (ctx) => {
      began.push(ctx.executionId)
      await gates[ctx.payload.gate].promise
      return ctx.payload.gate
    })
    carillon.handle(quick, async ({ payload: { n } }) => void runs.set(n, (runs.get(n) ?? 0) + 1))
  }
  const [node] = [await launch(server, prepare), await launch(server, prepare)]

  const handles = await node.enqueueMany(gated, [
    ...Array.from({ length: 5 }, () => ({ gate: 'meanwhile' as const })),
    ...Array.from({ length: 5 }, () => ({ gate: 'afterwards' as const })),
  ])
  await until(() => began.length === 10)
  // Submissions go on until the database is gone; what was acknowledged is counted.
  const acknowledged: ExecutionHandle<unknown>[] = []
  let gone = false
  const submitting = (async () => {
    for (let n = 0; !gone; n++) {
      const handle = await node.enqueue(quick, { n }).catch(() => null)
      if (handle) acknowledged.push(handle)
    }
  })()
  await until(() => acknowledged.length >= 50)
  const { port } = server
  if (how === 'killed') process.kill(server.pid, 'SIGKILL')
  await server.stop()
  gone = true
  await submitting
  gates.meanwhile.resolve()
  // Away for longer than a worker may be silent.
  const away = performance.now()
  await until(() => performance.now() - away > 1.5 * quickTimes.workerLostMs)
  server = await startEmbeddedPostgres({ dataDir, port, settings })
  const job = await untilDone(() => node.schedule(quick, { n: -1 }, { cron: '* * * * * *' }))
  await until(() => (runs.get(-1) ?? 0) > 0)
  await node.unschedule(job.jobId)
  gates.afterwards.resolve()

  for (const handle of handles) {
    expect(await handle.ended({ waitMs: 20_000 })).toMatchObject({ state: 'SUCCEEDED', attempt: 1, attempts: [] })
  }
  for (const handle of acknowledged) {
    expect(await handle.ended({ waitMs: 20_000 })).toMatchObject({ state: 'SUCCEEDED', attempts: [] })
  }
  expect(began).toHaveLength(10)
})

async function launch(server: EmbeddedPostgres, prepare: (carillon: Carillon) => void): Promise<Carillon> {
  const node = await createCarillon({ ...quickTimes, databaseUrl: server.url, logLevel: 'fatal' })
  prepare(node)
  disposals.push(() => node.stop({ drainSec: 1 }))
  await node.start()
  return node
}

/** Tries until the node is connected again. */
async function untilDone<T>(attempt: () => Promise<T>): Promise<T> {
  let result: T | undefined
  await until(async () => {
    result = await attempt().catch(() => undefined)
    return result !== undefined
  })
  return result!
}
