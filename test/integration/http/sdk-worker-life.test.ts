/** Handlers in a remote worker live as they do in library mode. */
import { silentLogger } from '@carillon/contract/process'
import {
  createClient,
  createWorker,
  defineHandler,
  type HandlerContext,
  implementHandler,
  type RegisteredHandler,
  type Worker,
} from '@carillon/sdk'
import { completeIn } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'

const wait = { waitMs: 20_000 }
let node: HttpNode
let client: ReturnType<typeof createClient>
let pool = 0

beforeAll(async () => {
  // Heartbeats so far apart that what comes sooner did not come with one.
  node = await httpNode({ engine: { ...quickTimes, heartbeatEveryMs: 10_000, workerLostMs: 30_000 } })
  client = createClient({ urls: node.url })
})
afterAll(async () => {
  await client.close()
  await node[Symbol.asyncDispose]()
})

/** A worker for one handler in a pool of its own. */
async function serving<P>(
  code: ((ctx: HandlerContext<P>) => unknown) | URL,
  options: { concurrency?: number; isolation?: 'THREAD' | 'PROCESS'; completeIn?: typeof completeIn } = {},
) {
  const { completeIn, ...rest } = options
  const definition = defineHandler<P>({ name: 'work', pool: `p${++pool}` })
  const handlers = [implementHandler(definition, code, rest) as RegisteredHandler]
  const worker = createWorker({ urls: node.url, handlers, logger: silentLogger, drainSec: 1, completeIn })
  await worker.start()
  return { worker, definition, [Symbol.asyncDispose]: () => worker.stop() }
}

describe('a remote worker', () => {
  it('brings results, errors, logs and progress, and tries again where the last attempt stood', async () => {
    await using rig = await serving<{ n: number }>((ctx) => {
      ctx.log(`attempt ${ctx.attempt}`)
      ctx.heartbeat({ page: ctx.attempt })
      if (ctx.attempt === 1) throw new TypeError('not yet')
      return { n: ctx.payload.n, lastProgress: ctx.lastProgress, tenant: ctx.tenant, target: ctx.target }
    })
    const retryPolicy = { maxAttempts: 2, backoff: 'FIXED', initialDelayMs: 1 } as const
    const handle = await client.enqueue(rig.definition, { n: 1 }, { retryPolicy })
    expect(await handle.result(wait)).toEqual({ n: 1, lastProgress: { page: 1 }, tenant: 'default', target: null })
    expect(await handle.execution()).toMatchObject({ state: 'SUCCEEDED', attempt: 2 })
  })

  it.each(['THREAD', 'PROCESS'] as const)('runs handlers in a %s of their own', async (isolation) => {
    const module = new URL('./isolated-handler.ts', import.meta.url)
    await using rig = await serving<{ word: string }>(module, { isolation })
    const handle = await client.enqueue(rig.definition, { word: 'there' })
    expect(await handle.result(wait)).toEqual({ word: 'there', attempt: 1, isMain: isolation === 'PROCESS' })
  })

  it('starts an AT_MOST_ONCE handler once', async () => {
    let runs = 0
    await using rig = await serving<null>(() => ++runs)
    const handle = await client.enqueue(rig.definition, null, { delivery: 'AT_MOST_ONCE' })
    expect(await handle.result(wait)).toBe(1)
  })

  it.each([1, 3])('hears of a cancellation within a second (%i slots)', async (concurrency) => {
    let begun = 0
    let toldAt = 0
    const stay = ({ signal }: HandlerContext<null>) =>
      new Promise((_, reject) => {
        begun++
        signal.addEventListener('abort', () => {
          toldAt = performance.now()
          reject(signal.reason)
        })
      })
    await using rig = await serving(stay, { concurrency })
    const handle = await client.enqueue(rig.definition, null)
    await until(() => begun === 1)
    await client.cancel(handle.executionId)
    const askedAt = performance.now()
    expect(await handle.ended(wait)).toMatchObject({ state: 'CANCELLED' })
    expect(toldAt - askedAt).toBeLessThan(1_000)
  })

  it('hands back what it holds when it stops, and nothing of it is lost', async () => {
    let begun = 0
    const stay = (ctx: HandlerContext<null>) => {
      begun++
      if (ctx.fence > 0 && begun > 2) return 'done elsewhere'
      return new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    }
    await using rig = await serving(stay, { concurrency: 2 })
    const handles = await client.enqueueMany(rig.definition, [null, null, null])
    await until(() => begun === 2)
    await rig.worker.stop({ drainSec: 0 })
    const { body } = await node.ask('GET /v1/workers')
    expect(body.items.map((each: Worker) => each.workerId)).not.toContain(rig.worker.workerId)
    await using _ = await again(rig.definition, stay)
    for (const handle of handles) expect(await handle.ended(wait)).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
  })

  it('completes in a transaction of the handler’s own, if it is given the function for it', async () => {
    const sql = new pg.Pool({ connectionString: node.databaseUrl, max: 2 })
    await sql.query('create table effects (id uuid)')
    const work = async (ctx: HandlerContext<null>) => {
      const tx = await sql.connect()
      try {
        await tx.query('begin')
        await tx.query('insert into effects values ($1)', [ctx.executionId])
        await ctx.completeIn(tx, 'in it')
        await tx.query('commit')
      } finally {
        tx.release()
      }
    }
    await using rig = await serving(work, { completeIn })
    const handle = await client.enqueue(rig.definition, null)
    expect(await handle.result(wait)).toBe('in it')
    expect((await sql.query('select id from effects')).rows).toEqual([{ id: handle.executionId }])
    await sql.end()
  })

  it('works through a backlog, every execution once', async () => {
    const runs = new Map<string, number>()
    await using rig = await serving<{ n: number }>(
      ({ executionId, payload }) => {
        runs.set(executionId, (runs.get(executionId) ?? 0) + 1)
        return payload.n
      },
      { concurrency: 50 },
    )
    const payloads = Array.from({ length: 3_000 }, (_, n) => ({ n }))
    const handles = await client.enqueueMany(rig.definition, payloads)
    await until(() => runs.size === handles.length)
    await rig.worker.onIdle()
    expect([...runs.values()].every((n) => n === 1)).toBe(true)
    expect(await handles.at(-1)!.result(wait)).toBe(2_999)
    expect(rig.worker.health()).toMatchObject({ healthy: true })
  })
})

async function again<P>(definition: ReturnType<typeof defineHandler<P>>, code: (ctx: HandlerContext<P>) => unknown) {
  const handlers = [implementHandler(definition, code) as RegisteredHandler]
  const worker = createWorker({ urls: node.url, handlers, logger: silentLogger, drainSec: 1 })
  await worker.start()
  return { [Symbol.asyncDispose]: () => worker.stop() }
}
