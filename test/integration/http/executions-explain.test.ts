import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fitsContract } from '../../support/contract-check.ts'
import { type WorkedNode, workedNode } from './worked-node.ts'

let node: WorkedNode

beforeAll(async () => {
  node = await workedNode()
})
afterAll(() => node[Symbol.asyncDispose]())

async function explain(id: string): Promise<{ state: string; summary: string; codes: string[] }> {
  const answer = await node.ask(`GET /v1/executions/${id}/explain`)
  fitsContract('explainExecution', answer)
  const { state, summary, reasons } = answer.body
  return { state, summary, codes: reasons.map((reason: { code: string }) => reason.code) }
}

describe('explain', () => {
  it('a pool that is paused and that nobody serves', async () => {
    await node.sql.query(`insert into carillon.pools (pool, paused) values ('still', true)`)
    const id = await node.submit({}, { target: { handler: 'act', pool: 'still' } })
    expect(await explain(id)).toMatchObject({ state: 'PENDING', codes: ['POOL_PAUSED', 'NO_LIVE_WORKER'] })
  })

  it('a handler that nobody has', async () => {
    await node.sql.query('update carillon.pools set paused = true where pool = $1', ['default'])
    const id = await node.submit({}, { target: { handler: 'unheard of', pool: 'default' } })
    expect((await explain(id)).codes).toEqual(['POOL_PAUSED', 'NO_HANDLER'])
    await node.sql.query('update carillon.pools set paused = false')
  })

  it('a retry, a run and an end', async () => {
    const failed = await node.submit({ how: 'throw' }, { retryPolicy: { initialDelayMs: 3_600_000 } })
    await node.reach(failed, 'FAILED')
    expect(await explain(failed)).toMatchObject({ state: 'FAILED', codes: ['RETRY_LATER'] })
    const running = await node.submit({ how: 'stay' })
    await node.reach(running, 'RUNNING')
    expect(await explain(running)).toMatchObject({ state: 'RUNNING', codes: ['LEASED'] })
    node.letGo()
    await node.reach(running, 'SUCCEEDED')
    expect(await explain(running)).toMatchObject({ state: 'SUCCEEDED', codes: ['SUCCEEDED'] })
  })

  it('one that waits for another of its job', async () => {
    const job = { name: 'j', type: 'INTERVAL', interval: 'PT1H', overlap: 'QUEUE_ONE', target: { handler: 'act' } }
    const { jobId } = (await node.ask('POST /v1/jobs', { ...job, payload: { how: 'stay' } })).body
    const first = (await node.ask(`POST /v1/jobs/${jobId}/trigger`)).body.executionId
    await node.reach(first, 'RUNNING')
    const second = (await node.ask(`POST /v1/jobs/${jobId}/trigger`)).body.executionId
    const { summary, codes } = await explain(second)
    expect(codes).toEqual(['OVERLAP'])
    expect(summary).toContain(first)
    node.letGo()
    await node.reach(second, 'RUNNING')
    node.letGo()
    await node.reach(second, 'SUCCEEDED')
  })

  it('a one-shot that is still to come', async () => {
    const id = await node.submit({ how: 'answer' }, { type: 'DELAYED', delayMs: 3_600_000 })
    expect(await explain(id)).toMatchObject({ state: 'PENDING', codes: ['NOT_DUE'] })
    await node.ask(`POST /v1/jobs/${id}/pause`)
    expect((await explain(id)).codes).toEqual(['JOB_PAUSED', 'NOT_DUE'])
  })
})
