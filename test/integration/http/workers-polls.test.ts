/** Requests that workers keep open: how they are answered, ended, cut and bounded. */
import { setTimeout as after } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { type Asked, ask, type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { HandWorker, type Held, keyOf, Ledger } from './hand-worker.ts'

const engine = { ...quickTimes, workerLostMs: 30_000 }
let node: HttpNode
let ledger: Ledger

beforeAll(async () => {
  node = await httpNode({ engine })
  ledger = new Ledger(node)
})
afterAll(async () => {
  await ledger[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
})

/** A worker in a pool of its own. */
async function alone(pool: string): Promise<HandWorker> {
  return HandWorker.register(node.url, { pools: [pool] })
}

/** Waits at a node that may have no place at first. */
async function wait(worker: HandWorker, wish: object): Promise<Asked> {
  for (;;) {
    const answer = await worker.lease({ waitMs: 60_000, ...wish })
    if (answer.status !== 503) return answer
  }
}

describe('a long poll', () => {
  it('is answered when work arrives, and empty when its time is over', async () => {
    const worker = await alone('arrives')
    expect((await worker.lease({ pool: 'arrives', waitMs: 50 })).body.executions).toEqual([])
    const waiting = worker.lease({ pool: 'arrives' })
    const [executionId] = await ledger.enqueue({ pool: 'arrives' })
    const [held] = (await waiting).body.executions
    expect(held.executionId).toBe(executionId)
    await worker.succeed(held)
  })

  it('keeps nobody else out, however many of one caller are open', async () => {
    // More polls than the slots that bodies of one caller have.
    const pools = Array.from({ length: 16 }, (_, i) => `crowd-${i}`)
    const crowd = await Promise.all(Array.from({ length: 40 }, () => HandWorker.register(node.url, { pools })))
    let answered = 0
    const waiting = crowd.flatMap((worker) =>
      pools.map((pool) => worker.lease({ pool, waitMs: 20_000 }).finally(() => answered++)),
    )
    const after = await alone('after-the-crowd')
    expect((await after.lease({ pool: 'after-the-crowd', waitMs: 0 })).status).toBe(200)
    expect(answered).toBe(0)
    await Promise.all(crowd.map((worker) => worker.leave()))
    await Promise.all(waiting)
  })

  it('that does not wait at all takes what is there, and nothing is handed back', async () => {
    const worker = await alone('at-once')
    const ids = await ledger.enqueue({ pool: 'at-once', times: 20 })
    const got: Held[] = []
    await until(async () => {
      got.push(...(await worker.lease({ pool: 'at-once', slots: 7, waitMs: 0 })).body.executions)
      return got.length === 20
    })
    await worker.report({ outcomes: got.map((held) => ({ ...keyOf(held), outcome: 'SUCCEEDED' })) })
    for (const id of ids) expect(await ledger.execution(id)).toMatchObject({ state: 'SUCCEEDED', releases: 0 })
  })

  it('ends when the same worker asks anew for the same pool; another pool is another matter', async () => {
    const worker = await HandWorker.register(node.url, { pools: ['twice', 'other'] })
    let ended = false
    const elsewhere = worker.lease({ pool: 'other', waitMs: 60_000 })
    const older = worker.lease({ pool: 'twice', waitMs: 60_000 }).finally(() => {
      ended = true
    })
    await until(async () => {
      await worker.lease({ pool: 'twice', waitMs: 20 })
      return ended
    })
    expect((await older).body).toMatchObject({ executions: [], cancellations: [] })
    await ledger.enqueue({ pool: 'other' })
    expect((await elsewhere).body.executions).toHaveLength(1)
    await worker.leave()
  })

  it('for no slots takes nothing, and hears of cancellations', async () => {
    const worker = await alone('none')
    const [executionId] = await ledger.enqueue({ pool: 'none' })
    const [held] = (await worker.lease({ pool: 'none' })).body.executions
    const waiting = worker.lease({ pool: 'none', slots: 0 })
    await ledger.enqueue({ pool: 'none' })
    await node.ask(`POST /v1/executions/${executionId}/cancel`)
    expect((await waiting).body).toMatchObject({
      executions: [],
      cancellations: [{ ...keyOf(held), reason: 'CANCELLED' }],
    })
    await worker.report({ outcomes: [{ ...keyOf(held), outcome: 'CANCELLED' }] })
    expect(await ledger.execution(executionId!)).toMatchObject({ state: 'CANCELLED' })
    await worker.leave()
  })

  it('whose client goes away when work arrives loses none of it', async () => {
    const worker = await alone('cut')
    const rounds = 100
    const ids: string[] = []
    const got: Held[] = []
    for (let round = 0; round < rounds; round++) {
      const gone = new AbortController()
      const poll = worker.cut({ pool: 'cut', slots: 5 }, gone.signal)
      const [id] = await ledger.enqueue({ pool: 'cut' })
      ids.push(id!)
      await after(Math.random() * 12)
      gone.abort()
      for (const held of (await poll) ?? []) got.push(held)
    }
    // What was delivered is done; what the client never read is missing from two heartbeats and handed back.
    const done = new Set<string>()
    const finish = async (held: Held[]) => {
      if (held.length === 0) return
      const { body } = await worker.report({ outcomes: held.map((h) => ({ ...keyOf(h), outcome: 'SUCCEEDED' })) })
      for (const [at, h] of held.entries()) if (body.outcomes[at] === 'ACCEPTED') done.add(h.executionId)
    }
    await finish(got)
    await until(async () => {
      await worker.report({ held: [] })
      await finish((await worker.lease({ pool: 'cut', slots: 200, waitMs: 50 })).body.executions)
      return done.size === rounds
    })
    const { rows } = await ledger.sql.query(
      `select count(*) filter (where state = 'SUCCEEDED') done,
         count(*) filter (where history @> '[{"reason": "UNDELIVERED"}]') undelivered,
         count(*) filter (where history @> '[{"reason": "NOT_NAMED"}]') unnamed
       from carillon.executions where execution_id = any ($1)`,
      [ids],
    )
    const { done: ended, undelivered, unnamed } = rows[0]
    expect(Number(ended)).toBe(rounds)
    console.log(
      `${rounds} connections cut: ${got.length} delivered, ${undelivered} handed back at once, ${unnamed} by heartbeats`,
    )
    await worker.leave()
  })
})

describe('two nodes', () => {
  it('serve one worker: announced at the first, it leases from the second and reports to either', async () => {
    const second = await node.another()
    const worker = await alone('two')
    const elsewhere = worker.at(second.url)
    const [executionId] = await ledger.enqueue({ pool: 'two' })
    const [held] = (await elsewhere.lease({ pool: 'two' })).body.executions
    expect(held).toMatchObject({ executionId, attempt: 1 })
    expect((await worker.report({ held: [keyOf(held)] })).body).toMatchObject({ lost: [] })
    expect((await elsewhere.report({ held: [keyOf(held)] })).body).toMatchObject({ lost: [] })
    expect((await worker.succeed(held)).body.outcomes).toEqual(['ACCEPTED'])
    expect((await elsewhere.succeed(held)).body.outcomes).toEqual(['ACCEPTED'])
    await worker.leave()
    await second.stop()
  })

  it('one that stops answers those who wait at once', async () => {
    const second = await node.another({ engine: { maxWaiting: 3 } })
    const workers = await Promise.all([1, 2, 3, 4].map(async () => (await alone('stopping')).at(second.url)))
    const worker = workers.pop()!
    const waiting = workers.map((each, at) => wait(each, { pool: 'stopping', slots: at }))
    await until(async () => (await worker.lease({ pool: 'stopping', waitMs: 0 })).status === 503)
    const stopped = second.stop()
    const answers = await Promise.all(waiting)
    expect(answers.map(({ status, body }) => [status, body.executions])).toEqual(answers.map(() => [200, []]))
    await stopped
    await expect(worker.lease({ pool: 'stopping' })).rejects.toThrow()
  })
})

it('no more polls are open at a node than it allows', async () => {
  const narrow = await node.another({ engine: { maxWaiting: 2 } })
  const workers = await Promise.all([1, 2, 3].map(async () => (await alone('narrow')).at(narrow.url)))
  const [first, second, third] = workers as [HandWorker, HandWorker, HandWorker]
  const waiting = [wait(first, { pool: 'narrow' }), wait(second, { pool: 'narrow' })]
  await until(async () => (await third.lease({ pool: 'narrow', waitMs: 0 })).status === 503)
  const refused = await third.lease({ pool: 'narrow' })
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
    503,
    'TOO_MANY_WAITING',
    '1',
  ])
  // One that replaces its own is no more than before.
  const again = second.lease({ pool: 'narrow', waitMs: 60_000 })
  expect((await waiting[1]!).body.executions).toEqual([])
  await narrow.stop()
  expect((await Promise.all([waiting[0], again])).map((answer) => answer!.status)).toEqual([200, 200])
})

describe('a cancellation', () => {
  it('that comes between two polls goes with the next one, at whichever node', async () => {
    const second = await node.another()
    // The first one shares its shards with it: it knows that it is not alone, and tells others of cancellations.
    await until(async () => (await ledger.leaders()) === 2)
    const worker = await alone('between')
    await ledger.enqueue({ pool: 'between', times: 2 })
    const held: Held[] = []
    while (held.length < 2) held.push(...(await worker.lease({ pool: 'between', slots: 2 })).body.executions)
    for (const [at, there] of [worker, worker.at(second.url)].entries()) {
      const { executionId, fence } = held[at]!
      await node.ask(`POST /v1/executions/${executionId}/cancel`)
      // The hint is on its way to the other node.
      let body = { cancellations: [] as object[] }
      await until(async () => {
        body = (await there.lease({ pool: 'between', slots: 0, waitMs: 100 })).body
        return body.cancellations.some((c) => (c as Held).executionId === executionId)
      })
      expect(body.cancellations).toContainEqual({ executionId, fence, reason: 'CANCELLED' })
    }
    await worker.leave()
    await second.stop()
  })

  it('comes with what is leased in the same answer', async () => {
    const worker = await alone('both')
    const [first] = await ledger.enqueue({ pool: 'both' })
    const [held] = (await worker.lease({ pool: 'both' })).body.executions
    await node.ask(`POST /v1/executions/${first}/cancel`)
    const [second] = await ledger.enqueue({ pool: 'both' })
    await until(async () => (await ledger.execution(second!)) !== undefined)
    const { body } = await worker.lease({ pool: 'both' })
    expect(body.cancellations).toMatchObject([keyOf(held)])
    expect(body.executions).toMatchObject([{ executionId: second }])
    await worker.leave()
  })
})

describe('a worker that is not heard of', () => {
  it('is SUSPECT and gets nothing though its poll is open, until it says something', async () => {
    const silent = await alone('suspect')
    const waiting = silent.lease({ pool: 'suspect', waitMs: 60_000 })
    const states = async () => {
      const { body } = await ask(node.url, 'GET /v1/workers?pool=suspect')
      return new Map(body.items.map((w: { workerId: string; state: string }) => [w.workerId, w.state]))
    }
    await ledger.sql.query(`update carillon.workers set seen_at = now() - interval '20 s' where worker_id = $1`, [
      silent.workerId,
    ])
    await until(async () => (await states()).get(silent.workerId) === 'SUSPECT')
    const { body: filtered } = await ask(node.url, 'GET /v1/workers?state=SUSPECT&pool=suspect')
    expect(filtered.items).toMatchObject([{ workerId: silent.workerId }])
    // The node has noticed when it gives the work to somebody who came later.
    const live = await alone('suspect')
    const got = new Map<string, Held>()
    await until(async () => {
      const [id] = await ledger.enqueue({ pool: 'suspect' })
      const { body } = await live.lease({ pool: 'suspect', waitMs: 500 })
      for (const held of body.executions as Held[]) got.set(held.executionId, held)
      return got.has(id!)
    })
    await silent.report({ held: [] })
    expect((await states()).get(silent.workerId)).toBe('LIVE')
    await ledger.enqueue({ pool: 'suspect' })
    expect((await waiting).body.executions).toHaveLength(1)
    await silent.leave()
    await live.leave()
  })

  it('at this node is live if another node hears of it', async () => {
    const second = await node.another({ engine: { workerSuspectMs: 300 } })
    const worker = (await alone('heard')).at(second.url)
    const beating = setInterval(() => void worker.at(node.url).report(), 50)
    const since = performance.now()
    await until(() => performance.now() - since > 900)
    const [executionId] = await ledger.enqueue({ pool: 'heard' })
    expect((await worker.lease({ pool: 'heard' })).body.executions).toMatchObject([{ executionId }])
    clearInterval(beating)
    await worker.leave()
    await second.stop()
  })
})
