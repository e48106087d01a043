import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { fitsContract } from '../../support/contract-check.ts'
import { type Asked, type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode
let sql: pg.Client

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes })
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
  await sql.query(`insert into carillon.pools (pool) values ('batch-etl')`)
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const extract = { name: 'extract', target: { handler: 'extract' } }
const load = { name: 'load', target: { pool: 'batch-etl', handler: 'load' }, dependsOn: ['extract'] }
const steps = [extract, load]
const create = (body: unknown, headers?: Record<string, string>) => node.ask('POST /v1/dags', body, headers)
const one = async (text: string, values: unknown[]) => (await sql.query(text, values)).rows[0]
const audited = async (dagId: string) =>
  (await sql.query('select action, actor, detail from carillon.audit where subject = $1 order by audit_id', [dagId]))
    .rows
const refusal = ({ status, body }: Asked) => ({ status, code: body.code })

describe('a graph', () => {
  it('is created, and read by id and by key as it was asked for', async () => {
    const asked = {
      ...{ key: 'nightly', name: 'Nightly', managedBy: 'git', labels: { team: 'a' }, deadlineSec: 3_600 },
      steps: [
        {
          ...load,
          runIf: 'ALL_DONE',
          allowFailure: true,
          timeoutSec: 5,
          labels: { step: 'load' },
          payload: { n: [1] },
        },
        extract,
      ],
    }
    const answer = await create(asked)
    fitsContract('createDag', answer)
    expect(answer).toMatchObject({ status: 201, body: { ...asked, state: 'ACTIVE', version: 1 } })
    expect(answer.body.steps).toEqual(asked.steps)
    expect(answer.headers.get('etag')).toBe('"1"')
    for (const reference of [answer.body.dagId, answer.body.dagId.toUpperCase(), 'nightly']) {
      const read = await node.ask(`GET /v1/dags/${reference}`)
      fitsContract('getDag', read)
      expect(read.body).toEqual(answer.body)
      expect(read.headers.get('etag')).toBe('"1"')
    }
    expect(await audited(answer.body.dagId)).toEqual([
      { action: 'dag.created', actor: expect.stringMatching(/./), detail: { name: 'Nightly', key: 'nightly' } },
    ])
  })

  it('is named by its key, else by its first step', async () => {
    expect((await create({ key: 'named-by-key', steps })).body.name).toBe('named-by-key')
    expect((await create({ steps })).body).toMatchObject({ name: 'extract', key: null, labels: {}, deadlineSec: null })
  })

  it('keeps payloads to the letter', async () => {
    const payload = '{"id":12345678901234567890,"rate":1.50,"text":"\\u0000\\ud800"}'
    const body = `{"steps":[{"name":"a","payload": ${payload},"target":{"handler":"h"}},{"name":"b","payload":null,"target":{"handler":"h"}}]}`
    const created = await fetch(`${node.url}/v1/dags`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const text = await created.text()
    expect(text).toContain(`"payload":${payload}`)
    expect(JSON.parse(text).steps[1]).toEqual({ name: 'b', target: { handler: 'h' }, payload: null })
    const read = await (await fetch(`${node.url}/v1/dags/${JSON.parse(text).dagId}`)).text()
    expect(read).toBe(text)
  })

  it('has up to 1,000 steps and 20,000 dependencies', async () => {
    const many = Array.from({ length: 1_000 }, (_, i) => ({
      name: `s${i}`,
      target: { handler: 'h' },
      dependsOn: Array.from({ length: Math.min(i, 20) }, (_, k) => `s${i - k - 1}`),
    }))
    const answer = await create({ key: 'large', steps: many })
    expect(answer.status).toBe(201)
    const again = await create({ key: 'large', steps: many })
    expect(again).toMatchObject({ status: 200, body: { version: 1 } })
  })
})

describe('a graph with a key', () => {
  it('is left as it is by the same definition, however it is written, and changed by another', async () => {
    const keyed = { key: 'k', labels: { a: '1', b: '2' }, steps }
    const first = await create(keyed)
    const same = await create({
      ...{ steps: [{ ...extract, allowFailure: false, timeoutSec: 300, dependsOn: [] }, load] },
      ...{ labels: { b: '2', a: '1' }, key: 'k' },
    })
    const other = await create({ ...keyed, steps: [extract, { ...load, payload: 1 }] })
    const last = await create({ ...keyed, deadlineSec: 5, steps: [extract, { ...load, payload: 1 }] })
    for (const answer of [first, same, other, last]) fitsContract('createDag', answer)
    expect([first, same, other, last].map(({ status, body }) => [status, body.version])).toEqual([
      [201, 1],
      [200, 1],
      [200, 2],
      [200, 3],
    ])
    expect(same.body).toEqual(first.body)
    expect(other.headers.get('etag')).toBe('"2"')
    const read = await node.ask('GET /v1/dags/k')
    expect(read.body).toEqual(last.body)
    expect((await audited(first.body.dagId)).map(({ action, detail }) => [action, detail.version])).toEqual([
      ['dag.created', undefined],
      ['dag.updated', 2],
      ['dag.updated', 3],
    ])
  })

  it('is created once by 20 who ask at once', async () => {
    const other = await node.another()
    const asked = Array.from({ length: 20 }, (_, i) => {
      const url = i % 2 === 0 ? node.url : other.url
      const body = JSON.stringify({ key: 'raced', steps })
      return fetch(`${url}/v1/dags`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    })
    const answers = await Promise.all(asked)
    const statuses = answers.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([...Array.from({ length: 19 }, () => 200), 201])
    expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1)
  })

  it('gets every one of 10 different definitions that come at once, one after the other', async () => {
    await create({ key: 'contended', steps })
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => create({ key: 'contended', deadlineSec: i + 1, steps })),
    )
    expect(answers.map(({ body }) => body.version).toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  })
})

describe('an Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'once' }

  it('creates once, and is answered the same again', async () => {
    const body = { labels: { once: 'yes' }, steps }
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(body, headers)))
    for (const answer of answers) fitsContract('createDag', answer)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    const { dagId } = answers[0]!.body
    const together = await one(
      `select d.xmin = i.xmin together from carillon.dags d, carillon.idempotency i where d.dag_id = $1 and i.key = 'once'`,
      [dagId],
    )
    expect(together).toEqual({ together: true })
    expect(refusal(await create({ ...body, name: 'other' }, headers))).toEqual({
      status: 409,
      code: 'IDEMPOTENCY_KEY_REUSED',
    })
  })

  it('changes once', async () => {
    const keyed = { key: 'changing', steps }
    await create(keyed, { 'idempotency-key': 'c1' })
    const changed = await create({ ...keyed, deadlineSec: 7 }, { 'idempotency-key': 'c2' })
    expect((await create(keyed, { 'idempotency-key': 'c3' })).body.version).toBe(3)
    const repeated = await create({ ...keyed, deadlineSec: 7 }, { 'idempotency-key': 'c2' })
    expect(repeated).toMatchObject({ status: 200, body: changed.body })
    expect((await node.ask('GET /v1/dags/changing')).body.version).toBe(3)
    const unchanged = await create(keyed, { 'idempotency-key': 'c4' })
    expect((await create(keyed, { 'idempotency-key': 'c4' })).body).toEqual(unchanged.body)
  })

  it('is free again after a refusal', async () => {
    const headers = { 'idempotency-key': 'refused' }
    expect((await create({ steps: [{ ...extract, dependsOn: ['extract'] }] }, headers)).status).toBe(422)
    expect((await create({ steps }, headers)).status).toBe(201)
  })
})

describe('a change', () => {
  const put = (dag: string, body: unknown, version?: string) =>
    node.ask(`PUT /v1/dags/${dag}`, body, version === undefined ? {} : { 'if-match': version })
  const remove = (dag: string, version?: string) =>
    node.ask(`DELETE /v1/dags/${dag}`, undefined, version === undefined ? {} : { 'if-match': version })

  it('replaces the definition of the version it names; the key stays', async () => {
    const { body: dag } = await create({ key: 'replaced', managedBy: 'git', steps })
    const changed = await put(dag.dagId, { deadlineSec: 60, steps: [extract] }, '"1"')
    fitsContract('replaceDag', changed)
    expect(changed).toMatchObject({
      status: 200,
      body: { version: 2, key: 'replaced', name: 'replaced', managedBy: null, deadlineSec: 60, steps: [extract] },
    })
    expect(changed.headers.get('etag')).toBe('"2"')
    expect(refusal(await put(dag.dagId, { steps }, '"1"'))).toEqual({ status: 412, code: 'VERSION_MISMATCH' })
    expect((await put('replaced', { deadlineSec: 60, steps: [extract] })).body.version).toBe(2)
    expect((await put('replaced', { key: 'replaced', steps }, 'W/"2"')).body.version).toBe(3)
    const otherKey = await put('replaced', { key: 'other', steps })
    expect(otherKey).toMatchObject({ status: 422, body: { errors: [{ pointer: '/key' }] } })
    const keyless = (await create({ steps })).body.dagId
    expect((await put(keyless, { key: 'now', steps })).body.errors).toMatchObject([{ pointer: '/key' }])
    expect((await put(keyless, { steps: [{ ...extract, dependsOn: ['load'] }] })).status).toBe(422)
  })

  it('of one version is made once', async () => {
    const { body: dag } = await create({ steps })
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => put(dag.dagId, { deadlineSec: i + 1, steps }, '"1"')),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 412)])
  })

  it('deletes: the key is free, the graph is still read by its id, and nothing changes it any more', async () => {
    const { body: dag } = await create({ key: 'gone', steps })
    expect(refusal(await remove('gone', '"2"'))).toEqual({ status: 412, code: 'VERSION_MISMATCH' })
    const gone = await remove('gone', '"1"')
    fitsContract('deleteDag', gone)
    expect(gone.status).toBe(204)
    const missing = { status: 404, code: 'DAG_NOT_FOUND' }
    expect(refusal(await node.ask('GET /v1/dags/gone'))).toEqual(missing)
    expect((await node.ask(`GET /v1/dags/${dag.dagId}`)).body).toMatchObject({ state: 'DELETED', version: 1, steps })
    expect(refusal(await remove(dag.dagId))).toEqual(missing)
    expect(refusal(await put(dag.dagId, { steps }))).toEqual(missing)
    expect(refusal(await node.ask(`POST /v1/dags/${dag.dagId}/runs`, {}))).toEqual(missing)
    expect((await audited(dag.dagId)).map(({ action }) => action)).toEqual(['dag.created', 'dag.deleted'])
    const again = await create({ key: 'gone', steps })
    expect(again.status).toBe(201)
    expect(again.body.dagId).not.toBe(dag.dagId)
  })
})
