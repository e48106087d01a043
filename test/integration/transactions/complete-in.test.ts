import { CarillonError, defineHandler } from '@carillon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Callers, closeCallers, type LibraryName, libraryNames, openCallers } from './libraries.ts'
import { openStage, type Stage } from './stage.ts'

type Course = 'COMMIT' | 'THROW_BEFORE_COMMIT' | 'ROLL_BACK_SILENTLY' | 'THROW_AFTER_COMMIT' | 'OLD_FENCE' | 'KEEP_OPEN'

/** Leaves a row in `effects` and completes in the same transaction; only its first attempt goes wrong. */
const settle = defineHandler<{ library: LibraryName; course: Course }>({ name: 'settle' })
/** With NUL, half a surrogate pair and what libraries might take for bindings. */
const result = { text: 'a\u0000b \udfff ? :x $1', n: 1 }
const settleApart = defineHandler<{ databaseUrl: string }>({ name: 'settle-apart' })
const retryPolicy = { maxAttempts: 2, initialDelayMs: 0, jitter: 0 }
const waitMs = 10_000

let stage: Stage
let callers: Callers
const thrown = new Map<string, unknown>()
const tried = new Set<string>()
const completed = Promise.withResolvers<void>()
const closing = Promise.withResolvers<void>()

beforeAll(async () => {
  stage = await openStage((carillon) => {
    carillon.handle(settle, async ({ payload, executionId, attempt, completeIn }) => {
      const course = tried.has(executionId) ? 'COMMIT' : payload.course
      tried.add(executionId)
      const transaction = callers[payload.library].transaction(async (tx, run) => {
        await run(`insert into effects values ('${executionId}', ${attempt})`)
        if (course === 'OLD_FENCE') await giveLeaseAway(executionId)
        await completeIn(tx, result).catch((error) => {
          thrown.set(executionId, error)
          throw error
        })
        if (course === 'KEEP_OPEN') {
          completed.resolve()
          await closing.promise
        }
        if (course === 'THROW_BEFORE_COMMIT' || course === 'ROLL_BACK_SILENTLY') throw new Error('not like this')
      })
      await (course === 'ROLL_BACK_SILENTLY' ? transaction.catch(() => {}) : transaction)
      if (course === 'THROW_AFTER_COMMIT') throw new Error('too late to matter')
      return 'ignored'
    })
    carillon.handle(settleApart, { isolation: 'THREAD' }, new URL('./isolated-handler.ts', import.meta.url))
  })
  callers = openCallers(stage.node.databaseUrl)
  await stage.admin.query('create table effects (execution_id uuid, attempt int)')
})
afterAll(async () => {
  await closeCallers(callers)
  await stage[Symbol.asyncDispose]()
})

/** As if the attempt had been taken for lost and another one leased. */
async function giveLeaseAway(executionId: string): Promise<void> {
  const sql = `select carillon.report(array[r.execution_id], array[r.fence], '{WORKER_LOST}', '{RETRY}', '{null}',
    array[carillon.ms(clock_timestamp()) + 100], '{null}', '{null}', '{null}', null, null, '{sweeper}') from carillon.running r where r.execution_id = $1`
  await stage.admin.query(sql, [executionId])
}

async function run(library: LibraryName, course: Course) {
  const handle = await stage.carillon.enqueue(settle, { library, course }, { retryPolicy })
  const execution = await handle.ended({ waitMs })
  const { rows } = await stage.admin.query('select attempt from effects where execution_id = $1', [handle.executionId])
  return { execution, effects: rows.map((row) => row.attempt), error: thrown.get(handle.executionId) }
}

describe.each(libraryNames)('completeIn in a transaction of %s', (library) => {
  it('commits the end of the execution with the effects', async () => {
    const { execution, effects } = await run(library, 'COMMIT')
    expect(execution).toMatchObject({ state: 'SUCCEEDED', attempt: 1, result })
    expect(effects).toEqual([1])
  })

  it('rolls both back together, and the next attempt does both', async () => {
    const { execution, effects } = await run(library, 'THROW_BEFORE_COMMIT')
    expect(execution.attempts).toMatchObject([{ attempt: 1, to: 'FAILED', error: { message: 'not like this' } }])
    expect(execution).toMatchObject({ state: 'SUCCEEDED', attempt: 2, result })
    expect(effects).toEqual([2])
  })

  it('throws if the lease was given to another attempt, and the effects are rolled back', async () => {
    const { execution, effects, error } = await run(library, 'OLD_FENCE')
    expect(error).toBeInstanceOf(CarillonError)
    expect(error).toMatchObject({ code: 'FENCE_STALE', cause: { code: 'CA001' } })
    expect(execution).toMatchObject({ state: 'SUCCEEDED', result })
    expect(effects).toHaveLength(1)
  })
})

describe('completeIn', () => {
  it('counts a transaction that did not commit as a failure, though the handler returned', async () => {
    const { execution, effects } = await run('a pg client', 'ROLL_BACK_SILENTLY')
    expect(execution.attempts).toMatchObject([{ to: 'FAILED', error: { name: 'TransactionNotCommitted' } }])
    expect(execution).toMatchObject({ state: 'SUCCEEDED', attempt: 2 })
    expect(effects).toEqual([2])
  })

  it('holds once committed, whatever the handler does afterwards', async () => {
    const { execution, effects } = await run('a pg client', 'THROW_AFTER_COMMIT')
    expect(execution).toMatchObject({ state: 'SUCCEEDED', attempt: 1, result })
    expect(effects).toEqual([1])
  })

  it('works from a handler in a thread of its own', async () => {
    const { carillon, node, admin } = stage
    const handle = await carillon.enqueue(settleApart, { databaseUrl: node.databaseUrl })
    await expect(handle.ended({ waitMs })).resolves.toMatchObject({ state: 'SUCCEEDED', result: 'from a thread' })
    const { rows } = await admin.query('select attempt from effects where execution_id = $1', [handle.executionId])
    expect(rows).toEqual([{ attempt: 1 }])
  })

  it('delays nobody while its transaction stays open', async () => {
    const kept = run('a pg client', 'KEEP_OPEN')
    await completed.promise
    for (const library of libraryNames) await run(library, 'COMMIT')
    closing.resolve()
    await expect(kept).resolves.toMatchObject({ execution: { state: 'SUCCEEDED', attempt: 1 }, effects: [1] })
  })
})
