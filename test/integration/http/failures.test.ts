/** What fails, counted: dead letters by error, failures by job; and that a group can be selected as it was counted. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { until } from '../../support/until.ts'
import { carillon } from '../cli/cli.ts'
import { type WorkedNode, workedNode } from './worked-node.ts'

let node: WorkedNode

beforeAll(async () => {
  node = await workedNode()
})
afterAll(() => node[Symbol.asyncDispose]())

const as = (tenant: string) => ({ 'carillon-tenant': tenant })

async function groups(tenant: string, query = '') {
  const answer = await node.ask(`GET /v1/dead-letters/groups?${query}`, undefined, as(tenant))
  if (answer.status === 200) fitsContract('groupDeadLetters', answer)
  return answer.body
}

async function failures(tenant: string, query = '') {
  const answer = await node.ask(`GET /v1/failures?${query}`, undefined, as(tenant))
  if (answer.status === 200) fitsContract('listFailures', answer)
  return answer.body
}

const once = { retryPolicy: { maxAttempts: 1 } }

describe('dead letters by error', () => {
  it('what workers reported is grouped without a look into the ledger', async () => {
    const mine = as('reported')
    const ids = []
    for (const _ of [1, 2, 3]) ids.push(await node.submit({ how: 'throw' }, once, mine))
    const other = await node.submit({ how: 'throw' }, once, as('another'))
    for (const id of [...ids, other]) await until(async () => (await state(id)) === 'DEAD')
    const found = await groups('reported')
    expect(found).toEqual({
      groups: [
        {
          ...{ error: 'TypeError', reason: 'ATTEMPTS_USED_UP', message: 'it is thrown', count: 3, jobs: 1 },
          ...{ handlers: ['act'], firstAt: expect.any(String), lastAt: expect.any(String), newest: ids[2] },
        },
      ],
      complete: true,
    })
    const { rows } = await node.sql.query(
      `select handler, pool, reason, error, attempts, job_id, ended_at = (select finished_at from carillon.executions e
         where e.execution_id = n.execution_id) "at" from carillon.endings n where tenant = 'reported'`,
    )
    const kept = { handler: 'act', pool: 'default', reason: 'ATTEMPTS_USED_UP', error: 'TypeError', attempts: 1 }
    expect(rows).toEqual([1, 2, 3].map(() => ({ ...kept, job_id: null, at: true })))
  })

  it('those from before endings said so are grouped by the ledger', async () => {
    await node.seed(3, { tenant: 'seeded', error: 'Broken', labels: { team: 'a' } })
    await node.seed(2, { tenant: 'seeded', error: 'Other', handler: 'g', pool: 'p' })
    const counts = async (query: string) =>
      (await groups('seeded', query)).groups.map(({ error, count }: never) => [error, count])
    expect(await counts('')).toEqual([
      ['Broken', 3],
      ['Other', 2],
    ])
    for (const query of ['error=Broken', 'handler=act', 'pool=default', 'label=team:a']) {
      expect(await counts(query), query).toEqual([['Broken', 3]])
    }
    expect(await counts('origin=SUBMIT')).toHaveLength(2)
    expect(await counts('from=2100-01-01T00:00:00Z')).toEqual([])
    expect(await groups('nobody')).toEqual({ groups: [], complete: true })
  })

  it.each([
    ['without an error', null, ''],
    ['with a name of more than 200 characters', 'E'.repeat(300), 'E'.repeat(200)],
    ['with a name that breaks lines', 'two\nlines', 'two\nlines'],
  ])('one %s is selected as it was counted', async (name, error, filter) => {
    const tenant = `exact ${name}`
    const ids = await node.seed(4, { tenant })
    await node.sql.query(
      `update carillon.executions set error = case when $2::text is null then null else jsonb_build_object('name', $2::text, 'message', 'm') end,
         reason = 'DEADLINE' where execution_id = any ($1)`,
      [ids.slice(0, 2), error],
    )
    const found = await groups(tenant)
    expect(found.groups).toHaveLength(2)
    const group = found.groups.find(({ reason }: { reason: string }) => reason === 'DEADLINE')
    expect(group).toMatchObject({ error: filter === '' ? null : filter, count: 2 })
    const selected = { error: group.error ?? '', reason: group.reason }
    const body = { filter: selected, dryRun: true }
    expect((await node.ask('POST /v1/dead-letters/replay', body, as(tenant))).body).toMatchObject({ count: 2 })
    const query = new URLSearchParams(selected)
    const { items } = (await node.ask(`GET /v1/dead-letters?${query}`, undefined, as(tenant))).body
    expect(items.map(({ executionId }: { executionId: string }) => executionId).sort()).toEqual(ids.slice(0, 2).sort())
  })

  it('a group that was replayed is gone', async () => {
    const tenant = 'replayed'
    await node.seed(2, { tenant, error: 'Broken' })
    await node.seed(1, { tenant, error: 'Stays' })
    const done = await node.ask('POST /v1/dead-letters/replay', { filter: { error: 'Broken' } }, as(tenant))
    expect(done.status).toBe(202)
    await until(async () => (await groups(tenant, 'error=Broken')).groups.length === 0)
    expect((await groups(tenant)).groups).toMatchObject([{ error: 'Stays', count: 1 }])
  })
})

describe('what failed, by job', () => {
  it('dead letters and what is to be retried, with the last error; nothing of others', async () => {
    const tenant = 'by-job'
    const target = { pool: 'default', handler: 'act' }
    const job = { type: 'CRON', schedule: '0 3 1 1 *', target, payload: { how: 'throw' }, name: 'nightly', key: 'n' }
    const { body: dying } = await node.ask('POST /v1/jobs', { ...job, ...once }, as(tenant))
    const { body: trying } = await node.ask(
      'POST /v1/jobs',
      { ...job, key: 'tries', retryPolicy: { maxAttempts: 5, initialDelayMs: 600_000 } },
      as(tenant),
    )
    for (const { jobId } of [dying, dying, trying]) await node.ask(`POST /v1/jobs/${jobId}/trigger`, {}, as(tenant))
    const submitted = await node.submit({ how: 'throw' }, once, as(tenant))
    await node.submit({ how: 'throw' }, once, as('by-another'))
    await until(async () => {
      const { items } = await failures(tenant)
      return items.length === 3 && items[0].dead === 2
    })
    const { items, complete } = await failures(tenant)
    const lastError = expect.objectContaining({ name: 'TypeError', message: 'it is thrown' })
    const same = { handler: 'act', lastError, lastFailedAt: expect.any(String), newest: expect.any(String) }
    expect(items).toEqual([
      { ...same, jobId: dying.jobId, key: 'n', name: 'nightly', dead: 2, retrying: 0, failed: 2 },
      { ...same, jobId: null, key: null, name: 'n', dead: 1, retrying: 0, failed: 1, newest: submitted },
      { ...same, jobId: trying.jobId, key: 'tries', name: 'nightly', dead: 0, retrying: 1, failed: 1 },
    ])
    expect(complete).toBe(true)
    expect((await failures(tenant, 'to=2020-01-01T00:00:00Z')).items).toEqual([])
    expect((await failures(tenant, 'from=2030-01-01T00:00:00Z&to=2020-01-01T00:00:00Z')).code).toBe('VALIDATION')
    expect((await failures('by-nobody')).items).toEqual([])
    const shown = await carillon(['failures', '--url', node.url, '--tenant', tenant])
    expect(shown.stdout).toMatch(/n +act +2 +0 +2 .*TypeError: it is thrown/)
    const grouped = await carillon(['dead-letters', 'groups', '--url', node.url, '--tenant', tenant])
    expect(grouped.stdout).toMatch(/3 +TypeError +ATTEMPTS_USED_UP +2/)
    const json = await carillon(['failures', '--json', '--url', node.url, '--tenant', tenant])
    expect(json.json()[0].items).toHaveLength(3)
  })

  it('in library mode', async () => {
    await node.seed(1, { tenant: 'default', error: 'OfTheLibrary' })
    expect((await node.worker.executions.groupDead({ error: 'OfTheLibrary' })).groups).toMatchObject([{ count: 1 }])
    expect((await node.worker.executions.failures()).items.length).toBeGreaterThan(0)
  })
})

async function state(executionId: string): Promise<string> {
  const { rows } = await node.sql.query('select state from carillon.executions where execution_id = $1', [executionId])
  return rows[0]?.state
}
