/** What a job was: every version with since when and by whom, a page at a time. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createApiKey } from '../../../packages/server/src/administration/api-keys.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type Asked, type HttpNode, httpNode } from '../../support/http-node.ts'

const cron = { type: 'CRON', schedule: '0 3 * * *', target: { handler: 'h' } }

let node: HttpNode
const actors: Record<string, string> = {}
let ask: (what: string, body?: unknown, as?: string) => Promise<Asked>

beforeAll(async () => {
  node = await httpNode({ auth: { jwtSecret: 'a secret of thirty-two characters, at least' } })
  const keys: Record<string, string> = {}
  for (const [name, tenant] of Object.entries({ ada: 'acme', grace: 'acme', eve: 'other' })) {
    const scopes = ['jobs:read' as const, 'jobs:write' as const]
    const { key, keyId } = await createApiKey(node.databaseUrl, { name, tenant, scopes })
    keys[name] = key
    actors[name] = `key:${keyId}`
  }
  ask = (what, body, as = 'ada') => node.ask(what, body, { authorization: `Bearer ${keys[as]}` })
})
afterAll(() => node[Symbol.asyncDispose]())

async function versionsOf(job: string, query = '') {
  const answer = await ask(`GET /v1/jobs/${job}/versions${query}`)
  fitsContract('listJobVersions', answer)
  return answer.body
}

async function sql(text: string, values: unknown[]): Promise<void> {
  const client = new pg.Client(node.databaseUrl)
  await client.connect()
  await client.query(text, values).finally(() => client.end())
}

it('shows each with its definition, since when it holds and who asked for it', async () => {
  const { body: made } = await ask('POST /v1/jobs', { ...cron, key: 'two', payload: { n: 1 }, labels: { team: 'a' } })
  await ask(`POST /v1/jobs/${made.jobId}/pause`)
  const { body: patched } = await ask(`PATCH /v1/jobs/two`, { schedule: '0 4 * * *', payload: { n: 2 } }, 'grace')
  const { items, nextCursor } = await versionsOf('two')
  expect(nextCursor).toBeNull()
  const [second, first] = items
  expect(second).toMatchObject({ version: 2, until: null, since: patched.updatedAt })
  expect(first).toMatchObject({ version: 1, since: made.createdAt, until: patched.updatedAt })
  expect(first.changedBy).toBe(actors.ada)
  expect(second.changedBy).toBe(actors.grace)
  expect(first.definition).toMatchObject({ schedule: '0 3 * * *', payload: { n: 1 }, labels: { team: 'a' } })
  expect(second.definition).toMatchObject({ schedule: '0 4 * * *', payload: { n: 2 }, target: { handler: 'h' } })
  expect(first.definition).not.toHaveProperty('state')
})

it('comes in pages, newest first', async () => {
  const { body: made } = await ask('POST /v1/jobs', cron)
  for (let hour = 4; hour < 8; hour++) await ask(`PATCH /v1/jobs/${made.jobId}`, { schedule: `0 ${hour} * * *` })
  const seen: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { items: { version: number }[]; nextCursor: string | null } = await versionsOf(
      made.jobId,
      `?limit=2${cursor && `&cursor=${cursor}`}`,
    )
    seen.push(...page.items.map(({ version }) => version))
    cursor = page.nextCursor
  }
  expect(seen).toEqual([5, 4, 3, 2, 1])
  const { status, body } = await ask(`GET /v1/jobs/${made.jobId}/versions?cursor=nonsense`)
  expect({ status, pointer: body.errors[0].pointer }).toEqual({ status: 422, pointer: '/cursor' })
})

it('says null for what was not recorded: versions of before, and older ones that are gone', async () => {
  const { body: made } = await ask('POST /v1/jobs', cron)
  for (let hour = 4; hour < 6; hour++) await ask(`PATCH /v1/jobs/${made.jobId}`, { schedule: `0 ${hour} * * *` })
  const before = (await versionsOf(made.jobId)).items
  await sql('update carillon.jobs set defined_at = null, defined_by = null where job_id = $1', [made.jobId])
  await sql('update carillon.job_versions set defined_at = null, defined_by = null where job_id = $1', [made.jobId])
  const without = before.map((version: object) => ({ ...version, changedBy: null }))
  expect((await versionsOf(made.jobId)).items).toEqual(without)
  await sql('delete from carillon.job_versions where job_id = $1 and version = 1', [made.jobId])
  const { items, nextCursor } = await versionsOf(made.jobId)
  expect(items).toEqual([without[0], { ...without[1], since: null }])
  expect(nextCursor).toBeNull()
})

it('is there for a deleted job and for one that is only in the ledger, and for no other tenant', async () => {
  const { body: gone } = await ask('POST /v1/jobs', cron)
  await ask(`DELETE /v1/jobs/${gone.jobId}`)
  expect((await versionsOf(gone.jobId)).items).toMatchObject([{ version: 1, until: null }])
  const { body: submitted } = await ask('POST /v1/jobs', { type: 'ONE_SHOT', target: { handler: 'h' }, payload: 7 })
  const { items } = await versionsOf(submitted.jobId)
  expect(items).toMatchObject([{ version: 1, changedBy: null, definition: { type: 'ONE_SHOT', payload: 7 } }])
  for (const { jobId } of [gone, submitted]) {
    expect((await ask(`GET /v1/jobs/${jobId}/versions`, undefined, 'eve')).body.code).toBe('JOB_NOT_FOUND')
  }
})

it('weighs a page', async () => {
  const { body: made } = await ask('POST /v1/jobs', cron)
  for (let n = 0; n < 36; n++) await ask(`PATCH /v1/jobs/${made.jobId}`, { payload: `${n}${'x'.repeat(250_000)}` })
  const first = await versionsOf(made.jobId)
  expect(first.items.length).toBeLessThan(37)
  const rest = await versionsOf(made.jobId, `?cursor=${first.nextCursor}`)
  expect(first.items.length + rest.items.length).toBe(37)
})
