import type { ExecutionHandle } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Callers, closeCallers, libraryNames, openCallers } from './libraries.ts'
import { note, openStage, type Stage } from './stage.ts'

const waitMs = 10_000

let stage: Stage
let callers: Callers
beforeAll(async () => {
  stage = await openStage()
  callers = openCallers(stage.node.databaseUrl)
})
afterAll(async () => {
  await closeCallers(callers)
  await stage[Symbol.asyncDispose]()
})

/** Something enqueued later has run: what should have run before it has had its chance. */
async function somethingElseRan(): Promise<void> {
  const { carillon } = stage
  const other = await callers['a pg client'].transaction((tx) => carillon.enqueue(note, 'later', { tx }))
  await other.result({ waitMs })
}

describe.each(libraryNames)('enqueue in a transaction of %s', (library) => {
  it('runs exactly once after the commit, and is nowhere to be seen before it', async () => {
    const { carillon, noted, rowsOf } = stage
    const handle = await callers[library].transaction(async (tx) => {
      const enqueued = await carillon.enqueue(note, { n: 1 }, { tx })
      expect(await rowsOf(enqueued.executionId)).toEqual({})
      await somethingElseRan()
      expect(await rowsOf(enqueued.executionId)).toEqual({})
      expect(noted.has(enqueued.executionId)).toBe(false)
      return enqueued
    })
    await expect(handle.ended({ waitMs })).resolves.toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
    await somethingElseRan()
    expect(noted.get(handle.executionId)).toEqual([{ n: 1 }])
    expect(await rowsOf(handle.executionId)).toEqual({ executions: 1 })
  })

  it('leaves nothing behind after a rollback', async () => {
    const { carillon, noted, rowsOf } = stage
    let handle: ExecutionHandle<unknown> | undefined
    const transaction = callers[library].transaction(async (tx) => {
      handle = await carillon.enqueue(note, {}, { tx })
      throw new Error('changed my mind')
    })
    await expect(transaction).rejects.toThrow('changed my mind')
    await somethingElseRan()
    expect(noted.has(handle!.executionId)).toBe(false)
    expect(await rowsOf(handle!.executionId)).toEqual({})
  })

  it('delays nobody while it stays open', async () => {
    const { carillon } = stage
    const kept = await callers[library].transaction(async (tx) => {
      const waiting = await carillon.enqueue(note, 'kept open', { tx })
      // The same pool, tenant and handler, from transactions of every kind and from none.
      const others = await Promise.all([
        ...Object.values(callers).map((caller) => caller.transaction((tx) => carillon.enqueue(note, 'other', { tx }))),
        carillon.enqueue(note, 'other'),
      ])
      for (const other of others) await other.result({ waitMs })
      expect(await waiting.execution()).toBeNull()
      return waiting
    })
    await expect(kept.ended({ waitMs })).resolves.toMatchObject({ state: 'SUCCEEDED' })
  })

  it('hands on every text as it is', async () => {
    const { carillon, noted, admin } = stage
    const payload = {
      nul: 'a\u0000b',
      lone: '\ud800 and \udfff',
      'ключ?': ['🜚', 'é', '\u2028'],
      bindings: `? ?? \\? :name ::text $1 $2 %s ' " \\ \n`,
      text: '{"not": "parsed"}',
    }
    const labels = { 'a?b': ':c $1 ? \\' }
    const options = { labels, priority: 'HIGH', name: `?'s :name`, timeoutSec: 2.5, deadlineSec: 60 } as const
    const handle = await callers[library].transaction((tx) => carillon.enqueue(note, payload, { ...options, tx }))
    await expect(handle.ended({ waitMs })).resolves.toMatchObject({ state: 'SUCCEEDED', labels, priority: 'HIGH' })
    expect(noted.get(handle.executionId)).toEqual([payload])
    const { rows } = await admin.query(
      'select payload, name, policy from carillon.executions where execution_id = $1',
      [handle.executionId],
    )
    expect(rows[0]).toEqual({
      payload: JSON.stringify(payload),
      name: options.name,
      policy: { timeoutSec: 2.5, deadlineSec: 60 },
    })
  })

  it('refuses an unknown pool before the transaction is touched', async () => {
    const { carillon } = stage
    const lost = { ...note, pool: 'nowhere' }
    const transaction = callers[library].transaction((tx) => carillon.enqueue(lost, {}, { tx }))
    await expect(transaction).rejects.toMatchObject({ code: 'POOL_UNKNOWN' })
  })
})

it.each(['postgres.js', 'Drizzle on pg', 'Drizzle on postgres.js', 'Knex'] as const)(
  'an inner transaction of %s takes with it what was enqueued there',
  async (library) => {
    const { carillon, noted, rowsOf } = stage
    let handle: ExecutionHandle<unknown> | undefined
    await callers[library].innerRollback!(async (tx) => {
      handle = await carillon.enqueue(note, {}, { tx })
    })
    await somethingElseRan()
    expect(noted.has(handle!.executionId)).toBe(false)
    expect(await rowsOf(handle!.executionId)).toEqual({})
  },
)

it.each([
  ['delayMs', () => ({ delayMs: 400 })],
  ['runAt', () => ({ runAt: new Date(Date.now() + 400) })],
])('with %s it fires at its time', async (_, when) => {
  const { carillon } = stage
  const earliest = Date.now() + 400 - 50
  const handles = await Promise.all(
    Object.values(callers).map((caller) => caller.transaction((tx) => carillon.enqueue(note, {}, { ...when(), tx }))),
  )
  for (const handle of handles) {
    const { state, startedAt, scheduledFor } = await handle.ended({ waitMs })
    expect(state).toBe('SUCCEEDED')
    expect(scheduledFor.getTime()).toBeGreaterThanOrEqual(earliest)
    expect(startedAt!.getTime()).toBeGreaterThanOrEqual(scheduledFor.getTime())
  }
})
