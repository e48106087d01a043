import type { OperationId } from '@carillon/contract/api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../packages/server/src/domain/identity.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { until } from '../../support/until.ts'
import { type WorkedNode, workedNode } from './worked-node.ts'

let node: WorkedNode

beforeAll(async () => {
  node = await workedNode()
  await node.sql.query(`insert into carillon.pools (pool) values ('idle')`)
})
afterAll(() => node[Symbol.asyncDispose]())

const paths = {
  cancelExecutions: '/v1/executions/cancel',
  retryExecutions: '/v1/executions/retry',
  replayDeadLetters: '/v1/dead-letters/replay',
  purgeDeadLetters: '/v1/dead-letters/purge',
} satisfies Partial<Record<OperationId, string>>

async function ask(what: keyof typeof paths, tenant: string, filter: object = {}, more: object = {}) {
  const answer = await node.ask(`POST ${paths[what]}`, { filter, ...more }, { 'carillon-tenant': tenant })
  if (answer.status < 300) fitsContract(what, answer)
  return answer
}

const read = async (id: string, tenant: string) => {
  const answer = await node.ask(`GET /v1/operations/${id}`, undefined, { 'carillon-tenant': tenant })
  if (answer.status === 200) fitsContract('getOperation', answer)
  return answer.body
}

/** Asks for it and waits until it is over. */
async function run(what: keyof typeof paths, tenant: string, filter: object = {}, more: object = {}) {
  const { status, body } = await ask(what, tenant, filter, more)
  expect(status, JSON.stringify(body)).toBe(202)
  await until(async () => (await read(body.operationId, tenant)).state !== 'RUNNING')
  return read(body.operationId, tenant)
}

const states = async (tenant: string) =>
  Object.fromEntries(
    (
      await node.sql.query(
        `select coalesce(e.state, case when r.execution_id is not null then 'RUNNING' else 'PENDING' end) state, count(*)::int n
         from carillon.executions e left join carillon.running r on r.execution_id = e.execution_id
         where e.tenant = $1 group by 1`,
        [tenant],
      )
    ).rows.map((row) => [row.state, row.n]),
  )

describe('many executions at once', () => {
  it('are counted before, and nothing is touched', async () => {
    await node.seed(7, { tenant: 'dry' })
    await node.seed(3, { tenant: 'dry', state: 'CANCELLED' })
    const count = async (what: keyof typeof paths, filter = {}) =>
      (await ask(what, 'dry', filter, { dryRun: true })).body
    expect(await count('replayDeadLetters')).toEqual({ count: 7, exact: true })
    expect(await count('retryExecutions')).toEqual({ count: 10, exact: true })
    expect(await count('retryExecutions', { state: 'CANCELLED' })).toEqual({ count: 3, exact: true })
    expect(await count('purgeDeadLetters', { error: 'TypeError' })).toEqual({ count: 7, exact: true })
    expect(await count('cancelExecutions')).toEqual({ count: 0, exact: true })
    expect(await states('dry')).toEqual({ DEAD: 7, CANCELLED: 3 })
  })

  it('a filter that fits nothing is done at once', async () => {
    for (const what of Object.keys(paths) as (keyof typeof paths)[]) {
      expect(await run(what, 'nobody')).toMatchObject({
        state: 'SUCCEEDED',
        total: 0,
        done: 0,
        skipped: 0,
        error: null,
      })
      expect(await run(what, 'nobody', { key: 'no such key' })).toMatchObject({ state: 'SUCCEEDED', done: 0 })
    }
  })

  it('replays all dead letters, of all times, oldest first', async () => {
    const ids = await node.seed(450, { tenant: 'replay', pool: 'idle', at: Date.now() - 3_600_000 })
    await node.seed(5, { tenant: 'replay', pool: 'idle', state: 'CANCELLED' })
    const operation = await run('replayDeadLetters', 'replay')
    expect(operation).toMatchObject({ kind: 'RETRY', state: 'SUCCEEDED', total: 450, done: 450, skipped: 0 })
    expect(await states('replay')).toEqual({ PENDING: 450, CANCELLED: 5 })
    const { rows } = await node.sql.query(`select history from carillon.executions where execution_id = $1`, [ids[0]])
    expect(rows[0].history).toMatchObject([{ to: 'PENDING', reason: 'REPLAYED', actor: operation.createdBy }])
    expect(await run('retryExecutions', 'replay')).toMatchObject({ done: 5 })
  })

  it('purges: off the list of dead letters, but not out of the ledger', async () => {
    const [id] = await node.seed(3, { tenant: 'purge' })
    await node.seed(2, { tenant: 'purge', error: 'Other' })
    expect(await run('purgeDeadLetters', 'purge', { error: 'TypeError' })).toMatchObject({ kind: 'PURGE', done: 3 })
    const mine = { 'carillon-tenant': 'purge' }
    expect((await node.ask('GET /v1/dead-letters', undefined, mine)).body.items).toHaveLength(2)
    expect((await node.ask('GET /v1/executions?state=DEAD', undefined, mine)).body.items).toHaveLength(2)
    expect((await node.ask('GET /v1/executions', undefined, mine)).body.items).toHaveLength(5)
    expect((await node.ask(`GET /v1/executions/${id}`, undefined, mine)).body.state).toBe('DEAD')
    expect((await node.ask(`POST /v1/executions/${id}/retry`, undefined, mine)).status).toBe(200)
  })

  it('cancels all that is unfinished, what runs too', async () => {
    const mine = { 'carillon-tenant': 'cancel' }
    const running = await node.submit({ how: 'stay' }, {}, mine)
    const failed = await node.submit({ how: 'throw' }, { retryPolicy: { initialDelayMs: 3_600_000 } }, mine)
    const at = async (id: string) => (await node.ask(`GET /v1/executions/${id}`, undefined, mine)).body.state
    await until(async () => (await at(running)) === 'RUNNING' && (await at(failed)) === 'FAILED')
    for (let i = 0; i < 5; i++) await node.submit({}, { target: { handler: 'act', pool: 'idle' } }, mine)
    await node.submit({ how: 'answer' }, { type: 'DELAYED', delayMs: 3_600_000 }, mine)
    expect(await run('cancelExecutions', 'cancel', { handler: 'other' })).toMatchObject({ done: 0 })
    expect(await run('cancelExecutions', 'cancel', { state: 'PENDING' })).toMatchObject({ done: 5, total: 5 })
    expect(await run('cancelExecutions', 'cancel')).toMatchObject({ kind: 'CANCEL', done: 2, skipped: 0 })
    await until(async () => (await at(running)) === 'CANCELLED')
    expect(await states('cancel')).toEqual({ CANCELLED: 7 })
    // What is still to come is a job.
    expect((await node.ask('GET /v1/jobs', undefined, mine)).body.items).toHaveLength(1)
  })

  it('keeps to its rate, shows how far it is, and stops when told to', async () => {
    await node.seed(500, { tenant: 'slow', pool: 'idle' })
    const began = performance.now()
    const { operationId } = (await ask('replayDeadLetters', 'slow', {}, { ratePerSec: 50 })).body
    await until(async () => (await read(operationId, 'slow')).done >= 30)
    const mine = { 'carillon-tenant': 'slow' }
    const stopped = await node.ask(`POST /v1/operations/${operationId}/cancel`, undefined, mine)
    fitsContract('cancelOperation', stopped)
    const seconds = (performance.now() - began) / 1_000
    const { state, done, total } = stopped.body
    expect({ state, total }).toEqual({ state: 'CANCELLED', total: 500 })
    // A batch of a fifth of a second may go at the very beginning.
    expect(done).toBeLessThanOrEqual(50 * seconds + 10)
    expect(await states('slow')).toEqual({ DEAD: 500 - done, PENDING: done })
    expect((await node.ask(`POST /v1/operations/${operationId}/cancel`, undefined, mine)).status).toBe(200)
  })

  it('is begun once for one Idempotency-Key', async () => {
    await node.seed(3, { tenant: 'once' })
    const headers = { 'carillon-tenant': 'once', 'idempotency-key': 'k' }
    const asked = () => node.ask('POST /v1/dead-letters/purge', { filter: {} }, headers)
    const answers = await Promise.all([asked(), asked(), asked()])
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.operationId}`)).size).toBe(1)
    const other = await node.ask('POST /v1/dead-letters/purge', { filter: { handler: 'x' } }, headers)
    expect(other.body.code).toBe('IDEMPOTENCY_KEY_REUSED')
    const { rows } = await node.sql.query(`select count(*)::int n from carillon.operations where tenant = 'once'`)
    expect(rows[0].n).toBe(1)
    const audit = await node.sql.query(`select action, actor from carillon.audit where tenant = 'once'`)
    expect(audit.rows).toEqual([{ action: 'operation.created', actor: 'anonymous' }])
  })

  it('refuses what makes no sense, and the operations of others', async () => {
    for (const [what, filter, pointer] of [
      ['cancelExecutions', { state: 'DEAD' }, '/filter/state'],
      ['retryExecutions', { state: 'SUCCEEDED' }, '/filter/state'],
      ['replayDeadLetters', { state: 'CANCELLED' }, '/filter/state'],
      ['purgeDeadLetters', { from: '2030-01-01T00:00:00Z', to: '2029-01-01T00:00:00Z' }, '/filter/to'],
      ['purgeDeadLetters', { labels: { a: '\u0000' } }, '/filter/labels/a'],
    ] as const) {
      const { status, body } = await ask(what, 'default', filter)
      expect({ status, pointer: body.errors[0].pointer }).toEqual({ status: 422, pointer })
    }
    expect((await ask('cancelExecutions', 'default', {}, { ratePerSec: 0 })).status).toBe(422)
    const { operationId } = await run('purgeDeadLetters', 'mine')
    expect(await read(operationId, 'yours')).toMatchObject({ code: 'OPERATION_NOT_FOUND' })
    expect(await read(newId(1), 'mine')).toMatchObject({ code: 'OPERATION_NOT_FOUND' })
    const over = await node.ask(`POST /v1/operations/${operationId}/cancel`, undefined, { 'carillon-tenant': 'mine' })
    expect(over.body.code).toBe('STATE_CONFLICT')
  })
})
