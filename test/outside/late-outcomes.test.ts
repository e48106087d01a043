/** A report after the end: the same one gets the first answer again, another one is refused and put on record. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { AttemptEnd } from '../../packages/server/src/store/executions/report.ts'
import { openSwept, type Swept } from '../integration/upkeep/swept.ts'
import { endOf } from '../support/store.ts'

let swept: Swept
beforeAll(async () => {
  swept = await openSwept()
})
afterAll(() => swept[Symbol.asyncDispose]())

type Lease = Awaited<ReturnType<Swept['leased']>>
const outcomes = ['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'HANDED_BACK'] as const

/** Of each actor a few refusals a minute are written one by one. */
beforeEach(() => swept.query('delete from carillon.audit_counts'))

async function verdict(held: Lease, outcome: AttemptEnd['outcome']): Promise<string> {
  const { verdicts } = await swept.store.report([endOf(held, outcome, { startedAt: Date.now() })])
  return verdicts[0] ?? 'ACCEPTED'
}

async function refusals(held: Lease): Promise<unknown[]> {
  const sql = `select detail from carillon.audit where subject = $1 and action = 'execution.report_refused' order by audit_id`
  return (await swept.query<{ detail: unknown }>(sql, [held.executionId])).map(({ detail }) => detail)
}

it.each(outcomes)('under the fence that ended as %s, only the same outcome is accepted again', async (first) => {
  const held = await swept.leased(await swept.worker())
  expect(await verdict(held, first)).toBe('ACCEPTED')
  const others = outcomes.filter((outcome) => outcome !== first)
  for (const outcome of others)
    expect({ outcome, verdict: await verdict(held, outcome) }).toEqual({ outcome, verdict: 'REFUSED' })
  expect(await verdict(held, first)).toBe('ACCEPTED')
  const { fence } = held
  const ended = first === 'SUCCEEDED' || first === 'CANCELLED' ? { ended: first } : {}
  expect(await refusals(held)).toEqual(others.map((outcome) => ({ fence, outcome, currentFence: fence, ...ended })))
  await swept.query('delete from carillon.retries')
})

it.each(['FAILED', 'TIMED_OUT', 'WORKER_LOST'] as const)(
  'completed in its own transaction, what is said of it then (%s) is accepted each time, and another outcome is not',
  async (said) => {
    const held = await swept.leased(await swept.worker())
    const { executionId, fence } = held
    await swept.query('select carillon.complete_in($1, $2, $3)', [executionId, fence, '"kept"'])
    expect(await verdict(held, said)).toBe('ACCEPTED')
    expect(await verdict(held, said)).toBe('ACCEPTED')
    expect(await verdict(held, 'COMPLETED_IN_TRANSACTION')).toBe('ACCEPTED')
    expect(await verdict(held, 'CANCELLED')).toBe('REFUSED')
    expect(await swept.execution(executionId)).toMatchObject({ state: 'SUCCEEDED', attempt: 1, result: '"kept"' })
    expect(await refusals(held)).toEqual([{ fence, outcome: 'CANCELLED', currentFence: fence, ended: 'SUCCEEDED' }])
  },
)
