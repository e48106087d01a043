/** Every operation of the API, taken from the contract: a new one is in here by itself. */
import { randomUUID } from 'node:crypto'
import type { Scope } from '@carillon/contract'
import type { ApiOperation } from '@carillon/contract/api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routes } from '../../../packages/server/src/http/routes/index.ts'
import type { Asked } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { inSec } from './auth-server.ts'
import { bearer, operations, type Stage, secrets, send, stage } from './every-route-stage.ts'

let on: Stage

beforeAll(async () => {
  on = await stage()
})
afterAll(() => on?.[Symbol.asyncDispose]())

const guarded = operations.filter(([, { scope }]) => scope !== null) as [
  string,
  ApiOperation & { scope: Scope | 'any' },
][]
const open = operations.filter(([, { scope }]) => scope === null)
const ofTenants = guarded.filter(([, { platform }]) => !platform)
/** Its name is each tenant's own: B would declare another limit. limits.test.ts shows that A's stays as it is. */
const ofItsOwnName = new Set(['putLimit'])
const withId = ofTenants.filter(([id, { path }]) => path.includes(':') && !ofItsOwnName.has(id))
const withoutId = ofTenants.filter(([, { path }]) => !path.includes(':'))

const refusal = ({ status, body }: Asked) => ({ status, code: body.code })

/** Nothing of A's stands in an answer but what was in the request itself. */
function expectNothingOfA({ body, headers }: Asked, request: ApiOperation): void {
  const text = JSON.stringify([body, [...headers]])
  const named = new Set([...request.path.matchAll(/:(\w+)/g)].map(([, name]) => on.ids[name!]))
  const all = [...Object.values(secrets), ...Object.values(on.ids), on.held.executionId].filter((id) => !named.has(id))
  expect(all.filter((secret) => text.includes(secret))).toEqual([])
}

it('every operation has a route', () => {
  expect(operations.map(([id]) => id).filter((id) => !(id in routes))).toEqual([])
})

describe('whoever has no token', () => {
  it.each(guarded)('%s', async (...operation) => {
    const answer = await send(on, operation, {})
    expect(refusal(answer)).toEqual({ status: 401, code: 'UNAUTHENTICATED' })
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /)
    expectNothingOfA(answer, operation[1])
  })
})

describe('whoever has an expired one', () => {
  it.each(guarded)('%s', async (...operation) => {
    const answer = await send(on, operation, await bearer({ tenant: secrets.tenant, exp: inSec(-60) }))
    expect(refusal(answer)).toEqual({ status: 401, code: 'UNAUTHENTICATED' })
    expectNothingOfA(answer, operation[1])
  })
})

describe('whoever has all scopes but the one that is needed', () => {
  it.each(guarded.filter(([, { scope }]) => scope !== 'any'))('%s', async (...operation) => {
    const { scope } = operation[1]
    const answer = await send(on, operation, await bearer({ tenant: secrets.tenant, but: scope as Scope }))
    expect(refusal(answer)).toEqual({ status: 403, code: 'SCOPE_MISSING' })
    expect(answer.body.detail).toContain(scope)
    expectNothingOfA(answer, operation[1])
  })
})

describe('whoever names a tenant that is not his', () => {
  it.each(guarded)('%s', async (...operation) => {
    const answer = await send(on, operation, { ...on.asB, 'carillon-tenant': secrets.tenant })
    expect(refusal(answer)).toEqual({ status: 403, code: 'TENANT_NOT_YOURS' })
    expectNothingOfA(answer, operation[1])
  })
})

describe('a tenant, about the installation', () => {
  it.each(guarded.filter(([, { platform }]) => platform))('%s is refused', async (...operation) => {
    for (const headers of [on.asA, on.asB]) {
      const answer = await send(on, operation, headers)
      expect(refusal(answer)).toEqual({ status: 403, code: 'TENANT_NOT_YOURS' })
      expectNothingOfA(answer, operation[1])
    }
    const { body } = await on.node.ask(`GET /v1/tenants/${secrets.tenant}`, undefined, await bearer({ tenant: '*' }))
    expect(body).toMatchObject({ name: secrets.tenant, weight: 7, version: 1 })
  })
})

describe('another tenant, about what is A’s', () => {
  it.each(withId)('%s finds nothing', async (...operation) => {
    const answer = await send(on, operation, on.asB)
    const isEmptyList = answer.status === 200 && Array.isArray(answer.body.items) && answer.body.items.length === 0
    if (!isEmptyList) {
      expect(answer.status, JSON.stringify(answer.body)).toBe(404)
      expect(operation[1].errors).toContain(answer.body.code)
    }
    expectNothingOfA(answer, operation[1])
  })

  it.each(withoutId)('%s shows and touches nothing', async (...operation) => {
    const answer = await send(on, operation, on.asB)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    expectNothingOfA(answer, operation[1])
    const { operationId } = answer.body
    if (operationId === undefined) return
    await until(async () => {
      const { body } = await on.node.ask(`GET /v1/operations/${operationId}`, undefined, on.asB)
      return body.state === 'SUCCEEDED' && body.done === 0
    })
  })

  it('cannot end what A’s worker runs, not even with its fence', async () => {
    const pools = [{ pool: 'pool-of-b', handlers: ['of-b'], slots: 1 }]
    const own = await on.node.ask('POST /v1/workers', { name: 'of-b', pools }, on.asB)
    const outcomes = [{ ...on.held, outcome: 'SUCCEEDED', result: 'stolen' }]
    const more = { outcomes, began: [on.held], progress: [{ ...on.held, progress: 'stolen' }], held: [on.held] }
    for (const workerId of [own.body.workerId, on.ids.workerId, randomUUID()]) {
      const { body } = await on.node.ask(`POST /v1/workers/${workerId}/report`, more, on.asB)
      expect(JSON.stringify(body)).not.toContain('ACCEPTED')
    }
  })

  it('cannot serve A’s pool, and is not told of it', async () => {
    const target = { pool: `${secrets.pool}x`, handler: 'of-b' }
    const job = await on.node.ask('POST /v1/jobs', { type: 'ONE_SHOT', target }, on.asB)
    expect(refusal(job)).toEqual({ status: 422, code: 'POOL_UNKNOWN' })
    expect(job.body.errors[0].hint).not.toContain(secrets.pool)
    const pools = [{ pool: secrets.pool, handlers: [secrets.handler], slots: 1 }]
    const { status, body } = await on.node.ask('POST /v1/workers', { name: 'of-b', pools }, on.asB)
    expect(status).toBe(201)
    const wish = { pool: secrets.pool, slots: 10, waitMs: 0 }
    const leased = await on.node.ask(`POST /v1/workers/${body.workerId}/lease`, wish, on.asB)
    expect(leased.body.executions).toEqual([])
  })
})

describe('A itself', () => {
  const asA = async (what: string) => (await on.node.ask(what, undefined, on.asA)).body

  it('finds everything as it was', async () => {
    expect(await asA(`GET /v1/jobs/${on.ids.jobId}`)).toMatchObject({
      ...{ tenant: secrets.tenant, name: secrets.name, state: 'ACTIVE', version: 1, priority: 'NORMAL' },
      executions: [],
    })
    expect(await asA(`GET /v1/executions/${on.ids.executionId}`)).toMatchObject({ state: 'PENDING' })
    expect(await asA(`GET /v1/executions/${on.held.executionId}`)).toMatchObject({
      ...{ state: 'RUNNING', workerId: on.ids.workerId, fence: on.held.fence, progress: null, result: null },
    })
    expect(await asA(`GET /v1/operations/${on.ids.operationId}`)).toMatchObject({ state: 'SUCCEEDED', kind: 'CANCEL' })
    const workers = (await asA('GET /v1/workers')).items.filter((one: { name: string }) => one.name === secrets.worker)
    expect(workers).toMatchObject([{ workerId: on.ids.workerId, tenant: secrets.tenant }])
    const pools = (await asA('GET /v1/pools')).items.filter((one: { name: string }) => one.name === secrets.pool)
    expect(pools).toMatchObject([{ tenant: secrets.tenant, paused: false }])
    expect(await asA(`GET /v1/limits/${secrets.limit}`)).toMatchObject({ concurrency: 7, version: 1 })
  })

  it('is reached by a platform token that names it', async () => {
    const headers = { ...(await bearer({ tenant: '*' })), 'carillon-tenant': secrets.tenant }
    const { status, body } = await on.node.ask(`GET /v1/jobs/${on.ids.jobId}`, undefined, headers)
    expect({ status, tenant: body.tenant }).toEqual({ status: 200, tenant: secrets.tenant })
  })
})

describe('what is open to everybody', () => {
  it('is this, and no more', () => {
    const known = ['completeExecution', 'healthz', 'readyz', 'metrics', 'openapi', 'docs', 'docsScript']
    expect(open.map(([id]) => id).sort()).toEqual(known.sort())
  })

  it.each(open.filter(([, { path }]) => !path.includes(':')))(
    '%s answers, and tells nothing of A',
    async (...operation) => {
      const answer = await send(on, operation, {})
      expect(answer.status).toBe(200)
      expectNothingOfA(answer, operation[1])
    },
  )

  it('completeExecution asks for its own token, and does not tell which executions exist', async () => {
    const answers = await Promise.all(
      [on.ids.executionId, on.held.executionId, randomUUID()].flatMap((executionId) =>
        [{}, { 'carillon-token': 'x' }, { 'carillon-token': `${on.held.fence}.x` }, on.asA].map((headers) =>
          on.node.ask(`POST /v1/executions/${executionId}/complete`, { outcome: 'SUCCEEDED' }, headers as never),
        ),
      ),
    )
    expect(answers.map(refusal)).toEqual(answers.map(() => ({ status: 401, code: 'TOKEN_INVALID' })))
  })
})
