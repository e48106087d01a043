/** Submissions with one dedupe key at the same moment, from two nodes, while what stands is being taken by workers. */
import { defineHandler, type ExecutionView } from '@carillon/server'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes, type TestCarillon, testCarillon } from '../../support/carillon.ts'
import { ask, type HttpNode, httpNode } from '../../support/http-node.ts'
import { brokenInvariants } from '../../support/store-invariants.ts'

let node: HttpNode
let urls: string[]
let sql: pg.Client

beforeAll(async () => {
  node = await httpNode({ engine: quickTimes })
  urls = [node.url, (await node.another()).url]
  sql = new pg.Client(node.databaseUrl)
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await node[Symbol.asyncDispose]()
})

const now = { type: 'ONE_SHOT', target: { handler: 'h' } }
const later = { type: 'DELAYED', delayMs: 3_600_000, target: { handler: 'h' } }

async function twenty(body: object, dedupe: object) {
  const asked = Array.from({ length: 20 }, (_, i) =>
    ask(urls[i % 2]!, 'POST /v1/jobs', { ...body, payload: i, dedupe }),
  )
  return (await Promise.all(asked)).map(({ status, body }) => ({ status, ...body.dedupe }))
}

const unended = async () =>
  (
    await sql.query(`select execution_id::text id from carillon.executions where state is null
                     union all select job_id::text from carillon.jobs`)
  ).rows.map(({ id }) => id)

describe.each([
  ['due now', now],
  ['to come', later],
])('twenty at once, %s', (name, body) => {
  it('leave one standing, and all name it', async () => {
    const before = await unended()
    const answers = await twenty(body, { key: `kept ${name}` })
    expect(answers.filter(({ verdict }) => verdict === 'NEW')).toHaveLength(1)
    expect(answers.filter(({ verdict }) => verdict === 'KEPT')).toHaveLength(19)
    const standing = (await unended()).filter((id) => !before.includes(id))
    expect(new Set(answers.map(({ executionId }) => executionId))).toEqual(new Set(standing))
    expect(standing).toHaveLength(1)
  })

  it('replace each other until one is left', async () => {
    const before = await unended()
    const key = `replaced ${name}`
    const answers = await twenty(body, { key, onDuplicate: 'REPLACE' })
    expect(answers.map(({ verdict }) => verdict).toSorted()).toEqual(['NEW', ...Array(19).fill('REPLACED')])
    expect(new Set(answers.map(({ executionId }) => executionId)).size).toBe(20)
    const standing = (await unended()).filter((id) => !before.includes(id))
    const { rows } = await sql.query('select execution_id::text id from carillon.dedupes where key = $1', [key])
    expect(standing).toEqual(rows.map(({ id }) => id))
    expect((await sql.query(brokenInvariants)).rows).toEqual([])
  })
})

describe('while workers take what stands', () => {
  const tick = defineHandler<number>({ name: 'tick' })
  let test: TestCarillon
  const ran: number[] = []
  let most = 0
  let running = 0

  beforeAll(async () => {
    test = await testCarillon((carillon) => {
      carillon.handle(tick, async ({ payload }) => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setImmediate(resolve))
        ran.push(payload)
        running--
      })
    }, quickTimes)
  })
  afterAll(() => test[Symbol.asyncDispose]())

  it('what is replaced never runs, what stands does, and never two at a time', async () => {
    const dedupe = { key: 'k', onDuplicate: 'REPLACE' } as const
    const handles = new Map<string, { ended(options: { waitMs: number }): Promise<ExecutionView> }>()
    for (let i = 0; i < 60; i++) {
      const handle = await test.carillon.enqueue(tick, i, { dedupe })
      handles.set(handle.executionId, handle)
    }
    const ends = await Promise.all([...handles.values()].map((handle) => handle.ended({ waitMs: 10_000 })))
    const succeeded = ends.filter(({ state }) => state === 'SUCCEEDED').map(({ payload }) => payload as number)
    expect(ran.toSorted((a, b) => a - b)).toEqual(succeeded.toSorted((a, b) => a - b))
    expect(ends.every(({ state, reason }) => state === 'SUCCEEDED' || reason === 'REPLACED')).toBe(true)
    expect(most).toBe(1)
  })
})
