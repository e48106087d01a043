/** Limits of concurrency and rate, settled before executions become ready. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { readPlacement } from '../../../packages/server/src/store/executions/read-placement.ts'
import { reserveTags } from '../../../packages/server/src/store/executions/reserve-tags.ts'
import {
  admit,
  anyLimits,
  checkSlots,
  readAdmissible,
  refundFlows,
} from '../../../packages/server/src/store/limits/admit.ts'
import { endOf, openStore, type TestStore, tenant } from '../../support/store.ts'

let store: TestStore

beforeAll(async () => {
  store = await openStore()
})
afterAll(async () => {
  await store.assertOnePlace()
  await store[Symbol.asyncDispose]()
})

interface Declared {
  tenant?: string | null
  name: string
  scope?: string
  subject?: string | null
  concurrency?: number | null
  rate?: [number, number] | null
}

async function declare({ name, scope = 'KEY', subject = null, concurrency = null, rate = null, ...rest }: Declared) {
  await store.database.query(
    null,
    `insert into carillon.limits (tenant, name, scope, subject, concurrency, rate_count, rate_sec) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (tenant, name) do update set concurrency = excluded.concurrency, rate_count = excluded.rate_count, rate_sec = excluded.rate_sec`,
    [
      rest.tenant === undefined ? tenant : rest.tenant,
      name,
      scope,
      subject,
      concurrency,
      rate?.[0] ?? null,
      rate?.[1] ?? null,
    ],
  )
  await store.database.query(
    null,
    `insert into carillon.limit_changes (key, freed) select distinct w.key, 0 from carillon.waiting w where w.tenant is not null`,
  )
}

/** As the limiter does, until there is room for nothing more. */
async function admitAll(): Promise<string[]> {
  const moved: string[] = []
  for (;;) {
    const { nextAt: _, ...found } = await readAdmissible(store.database, 500)
    if (found.keys.length === 0) return moved
    const admitted = await admit(
      store.database,
      found,
      found.candidates.map(() => store.tag()),
    )
    moved.push(...admitted.moved)
    if (admitted.moved.length === 0 && !admitted.more) return moved
  }
}

const keyed = (...limitKeys: string[]) => ({ limitKeys }) as never

describe('a limit of concurrency', () => {
  it('lets in as many as it says, the first first, and the next when one ends', async () => {
    await declare({ name: 'acct', concurrency: 2 })
    const ids = await store.submit(5, keyed('acct:1'))
    expect(await store.lease(10)).toEqual([])
    expect(await admitAll()).toEqual(ids.toSorted().slice(0, 2))
    const held = await store.lease(10)
    expect(held.map(({ executionId }) => executionId).sort()).toEqual(ids.toSorted().slice(0, 2))
    await store.assertOnePlace()
    expect(await admitAll()).toEqual([])

    await store.settle([endOf(held[0]!)])
    expect(await admitAll()).toEqual([ids.toSorted()[2]])
    await store.assertOnePlace()
    const [next] = await store.lease(10)
    await store.settle([endOf(next!), endOf(held[1]!)])
    expect(await admitAll()).toHaveLength(2)
    await store.settle((await store.lease(10)).map((each) => endOf(each)))
    await admitAll()
    expect(await checkSlots(store.database)).toEqual([])
    await store.assertOnePlace()
  })

  it('counts each key by itself, and what has none not at all', async () => {
    const one = await store.submit(2, keyed('acct:a'))
    const other = await store.submit(3, keyed('acct:b'))
    const free = await store.submit(1)
    expect((await admitAll()).sort()).toEqual([...one, ...other.toSorted().slice(0, 2)].sort())
    const held = await store.lease(10)
    expect(held.map(({ executionId }) => executionId)).toContain(free[0])
    expect(held).toHaveLength(5)
    await store.settle(held.map((each) => endOf(each)))
    expect(await admitAll()).toHaveLength(1)
    await store.settle((await store.lease(10)).map((each) => endOf(each)))
  })

  it('gives all slots at once or none: what lacks one waits for that and holds nothing', async () => {
    await declare({ name: 'door', concurrency: 1 })
    const [first] = await store.submit(1, keyed('door:x'))
    expect(await admitAll()).toEqual([first])
    const both = await store.submit(1, keyed('acct:z', 'door:x'))
    expect(await admitAll()).toEqual([])
    expect((await readPlacement(store.database, both[0]!))!.limit).toMatchObject({
      ...{ name: 'door', what: 'x', concurrency: 1, taken: 1, rate: null, ahead: 0 },
      holders: [{ executionId: first, worker: null }],
    })
    await store.assertOnePlace()
    // It holds no slot of acct:z: two others get them.
    const others = await store.submit(2, keyed('acct:z'))
    expect((await admitAll()).sort()).toEqual(others.toSorted())
    const held = await store.lease(10)
    await store.settle(held.filter(({ executionId }) => executionId === first).map((each) => endOf(each)))
    expect(await admitAll()).toEqual([])
    await store.assertOnePlace()
    await store.settle(held.filter(({ executionId }) => executionId !== first).map((each) => endOf(each)))
    expect(await admitAll()).toEqual(both)
    await store.settle((await store.lease(10)).map((each) => endOf(each)))
    await store.assertOnePlace()
  })

  it('is not held by what waits for a retry, is cancelled or is handed back', async () => {
    const ids = await store.submit(3, keyed('door:y'))
    expect(await admitAll()).toHaveLength(1)
    const [held] = await store.lease(10)
    await store.settle([endOf(held!, 'FAILED')])
    expect(await admitAll()).toEqual([ids.toSorted()[1]])
    const [second] = await store.lease(10)
    // The first one comes back, and is the first again.
    await store.fireReturns()
    expect(await admitAll()).toEqual([])
    await store.settle([endOf(second!)])
    expect(await admitAll()).toEqual([held!.executionId])
    await cancel(store.database, [held!.executionId], { reason: 'CANCELLED', actor: 'test' })
    expect(await admitAll()).toEqual([ids.toSorted()[2]])
    const [third] = await store.lease(10)
    await store.settle([endOf(third!)])
    await admitAll()
    expect(await checkSlots(store.database)).toEqual([])
  })

  it('of 0 lets nothing in; what is ready waits again when it is lowered', async () => {
    await declare({ name: 'lowered', concurrency: 5 })
    const ids = await store.submit(5, keyed('lowered'))
    expect(await admitAll()).toHaveLength(5)
    const held = await store.lease(2)
    await declare({ name: 'lowered', concurrency: 0 })
    await store.database.query(
      null,
      `insert into carillon.limit_changes (key, freed) select key, 0 from carillon.limit_keys where taken > 0`,
    )
    await admitAll()
    expect(await store.lease(10)).toEqual([])
    await store.assertOnePlace()
    await store.settle(held.map((each) => endOf(each)))
    expect(await admitAll()).toEqual([])
    await declare({ name: 'lowered', concurrency: 3 })
    expect((await admitAll()).sort()).toEqual(
      ids.toSorted().filter((id) => held.every(({ executionId }) => executionId !== id)),
    )
    await store.settle((await store.lease(10)).map((each) => endOf(each)))
    await store.assertOnePlace()
  })

  it('whose last one is deleted leaves nothing behind', async () => {
    await admitAll()
    const before = await store.database.query<{ name: string }>(null, 'delete from carillon.limits returning name')
    expect(await anyLimits(store.database)).toBe(false)
    await declare({ name: 'last', concurrency: 1 })
    const ids = await store.submit(2, keyed('last'))
    expect(await admitAll()).toHaveLength(1)
    const held = await store.lease(10)
    await store.database.query(
      null,
      `insert into carillon.limit_changes (key, freed) select distinct key, 0 from carillon.waiting where tenant is not null;
       delete from carillon.limits where name = 'last'`,
    )
    expect(await anyLimits(store.database)).toBe(true)
    expect(await admitAll()).toHaveLength(1)
    await store.settle([...held, ...(await store.lease(10))].map((each) => endOf(each)))
    expect(await anyLimits(store.database)).toBe(true)
    expect(await checkSlots(store.database)).toEqual([])
    await admitAll()
    expect(await anyLimits(store.database)).toBe(false)
    expect(ids).toHaveLength(2)
    for (const { name } of before) await declare({ name, concurrency: name === 'door' ? 1 : 2 })
  })

  it('of one that cannot be read lets the next one in when that is in quarantine', async () => {
    await declare({ name: 'ghost', concurrency: 1 })
    const [first, second] = (await store.submit(2, keyed('ghost'))).toSorted()
    await store.database.query(null, 'delete from carillon.executions where execution_id = $1', [first])
    expect(await admitAll()).toEqual([])
    await store.database.query(
      null,
      `select carillon.set_aside('a test', array['waiting'], array[jsonb_build_object('execution_id', $1::text)], array[$1::uuid],
         array['NO_LEDGER_ROW'], array['gone'])`,
      [first],
    )
    expect(await admitAll()).toEqual([second])
    await store.settle((await store.lease(10)).map((each) => endOf(each)))
    await store.database.query(null, 'delete from carillon.quarantine')
  })

  it('that is gone holds nobody', async () => {
    await declare({ name: 'gone', concurrency: 0 })
    const ids = await store.submit(2, keyed('gone:1'))
    expect(await admitAll()).toEqual([])
    await store.database.query(
      null,
      `insert into carillon.limit_changes (key, freed) select distinct key, 0 from carillon.waiting where tenant is not null`,
    )
    await store.database.query(null, `delete from carillon.limits where name = 'gone'`)
    expect((await admitAll()).sort()).toEqual(ids.toSorted())
    await store.settle((await store.lease(10)).map((each) => endOf(each)))
  })
})

describe('a limit that tenants share', () => {
  it('is given to them in turns, by weight, however long a backlog is', async () => {
    await store.database.query(null, `insert into carillon.tenants (name, weight) values ('heavy', 3)`)
    await declare({ tenant: null, name: 'shared', concurrency: 1 })
    const owners = new Map<string, string>()
    for (const [owner, count] of [
      ['big', 300],
      ['heavy', 120],
      ['small', 40],
    ] as const) {
      for (const id of await store.submit(count, keyed('shared'), Date.now(), owner)) owners.set(id, owner)
    }
    const counts: Record<string, number> = { big: 0, heavy: 0, small: 0 }
    for (let n = 0; n < 200; n++) {
      const [id] = await admitAll()
      counts[owners.get(id!)!]!++
      await store.settle((await store.lease(10)).map((each) => endOf(each)))
      const [least, most] = [
        Math.min(counts.big!, counts.heavy! / 3, counts.small!),
        Math.max(counts.big!, counts.heavy! / 3, counts.small!),
      ]
      expect(most - least, JSON.stringify(counts)).toBeLessThanOrEqual(1.1)
    }
    expect(counts).toEqual({ big: 40, heavy: 120, small: 40 })
    await cancel(store.database, [...owners.keys()], { reason: 'CANCELLED', actor: 'test' })
    await admitAll()
    await store.assertOnePlace()
  })

  it('comes after a limit of the tenant with the same name', async () => {
    await declare({ tenant: null, name: 'twice', concurrency: 0 })
    const [blocked] = await store.submit(1, keyed('twice'))
    expect(await admitAll()).toEqual([])
    await declare({ name: 'twice', concurrency: 1 })
    const [free] = await store.submit(1, keyed('twice'))
    expect(await admitAll()).toEqual([free])
    await cancel(store.database, [blocked!, free!], { reason: 'CANCELLED', actor: 'test' })
    await admitAll()
  })
})

describe('limits by job, handler, pool and tenant', () => {
  it('count what they name, or each by itself', async () => {
    await declare({ tenant: null, name: 'per-tenant', scope: 'TENANT', concurrency: 3 })
    await declare({ name: 'per-handler', scope: 'HANDLER', concurrency: 2 })
    await declare({ name: 'other-pool', scope: 'POOL', subject: 'elsewhere', concurrency: 0 })
    await store.submit(4)
    await store.submit(5, null, Date.now(), 'another')
    await admitAll()
    const held = await store.lease(10)
    expect(held.filter((each) => each.tenant === tenant)).toHaveLength(2)
    expect(held.filter((each) => each.tenant === 'another')).toHaveLength(3)
    await store.settle(held.map((each) => endOf(each)))
    await admitAll()
    await store.settle((await store.lease(10)).map((each) => endOf(each)))

    // What FIRE and a trigger bring has the limit of its job.
    const jobId = await store.job()
    await declare({ name: 'one-job', scope: 'JOB', subject: jobId, concurrency: 1 })
    await store.fire([jobId], 3)
    await store.trigger(jobId)
    expect(await admitAll()).toHaveLength(1)
    await store.assertOnePlace()
    await store.database.query(null, `delete from carillon.limits where name <> 'acct'`)
    await store.database.query(
      null,
      `insert into carillon.limit_changes (key, freed) select distinct key, 0 from carillon.waiting where tenant is not null`,
    )
    expect(await admitAll()).toHaveLength(3)
    await store.settle((await store.lease(10)).map((each) => endOf(each)))
  })
})

describe('the place in the queue', () => {
  it('is charged when it is admitted, and not while it waits', async () => {
    await declare({ name: 'charged', concurrency: 2 })
    const flows = () =>
      store.database.query<{ finish: number }>(null, `select finish from carillon.flows where tenant = 'charged'`)
    const flow = { ...{ pool: 'default', lane: 2, tenant: 'charged' }, count: 10, cost: 65_536, virtualTime: 0 }
    await reserveTags(store.database, [flow])
    await declare({ tenant: 'charged', name: 'charged', concurrency: 2 })
    await store.submit(10, keyed('charged'), Date.now(), 'charged')
    await refundFlows(store.database)
    expect(await flows()).toEqual([{ finish: 0 }])
    await refundFlows(store.database)
    expect(await flows()).toEqual([{ finish: 0 }])
    expect(await admitAll()).toHaveLength(2)
    await declare({ tenant: 'charged', name: 'charged', concurrency: 100 })
    expect(await admitAll()).toHaveLength(8)
  })
})

describe('a limit of rate', () => {
  it('lets in evenly, within five percent over ten seconds', async () => {
    await declare({ name: 'rate', rate: [50, 1] })
    await store.submit(700, keyed('rate'))
    const start = Date.now() + 1_000
    let admitted = 0
    let firstAt = 0
    for (let at = start; at <= start + 10_000; at += 37) {
      const before = admitted
      for (;;) {
        const { nextAt, ...found } = await readAdmissible(store.database, 500, new Date(at))
        if (found.keys.length === 0) {
          expect(nextAt! - at).toBeGreaterThan(0)
          expect(nextAt! - at).toBeLessThanOrEqual(20)
          break
        }
        admitted += (
          await admit(
            store.database,
            found,
            found.candidates.map(() => store.tag()),
            new Date(at),
          )
        ).moved.length
      }
      if (before === 0) firstAt = admitted
      // A fifth of a second of it at once, after a rest; then what 37 ms allow.
      else expect(admitted - before).toBeLessThanOrEqual(3)
    }
    expect(firstAt).toBeLessThanOrEqual(11)
    expect(admitted).toBeGreaterThanOrEqual(500 * 0.98)
    expect(admitted).toBeLessThanOrEqual(500 * 1.05)
    await store.assertOnePlace()
  })
})
