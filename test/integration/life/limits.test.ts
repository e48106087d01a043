/** Limits of concurrency and rate, settled before executions become ready. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cancel } from '../../../packages/server/src/store/executions/cancel.ts'
import { admit, checkSlots, readAdmissible } from '../../../packages/server/src/store/limits/admit.ts'
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

  it('that is gone holds nobody', async () => {
    await declare({ name: 'gone', concurrency: 0 })
    const ids = await store.submit(2, keyed('gone:1'))
    expect(await admitAll()).toEqual([])
    await store.database.query(
      null,
      `insert into carillon.limit_changes select distinct key, 0 from carillon.waiting where tenant is not null`,
    )
    await store.database.query(null, `delete from carillon.limits where name = 'gone'`)
    expect((await admitAll()).sort()).toEqual(ids.toSorted())
    await store.settle((await store.lease(10)).map((each) => endOf(each)))
  })
})
