/** Now, Ahead, Workers and Proof, of a node with real work. */
import { createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey } from '../../packages/server/src/administration/api-keys.ts'
import { expectAccessible, expectNoSidewaysScroll, openBrowser } from '../support/browser.ts'
import { ampleTimes } from '../support/carillon.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { until } from '../support/until.ts'
import { waitMs } from '../support/wait-ms.ts'

const work = defineHandler<null>({ name: 'work' })
const broken = defineHandler<null>({ name: 'broken' })

let node: HttpNode
let worker: ReturnType<typeof createWorker>
beforeAll(async () => {
  node = await httpNode({ engine: ampleTimes })
  worker = createWorker({
    urls: [node.url],
    name: 'overview-worker',
    handlers: [
      implementHandler(work, async () => 'done'),
      implementHandler(broken, async () => {
        throw new RangeError('out of range')
      }),
    ],
  })
  await worker.start()
  const schedule = (key: string, body: object) =>
    node.ask('POST /v1/jobs', { key, name: key, type: 'CRON', schedule: '0 * * * *', ...body })
  await schedule('hourly-one', { target: { handler: 'work' } })
  await schedule('hourly-two', { target: { handler: 'work' } })
  await schedule('often', { type: 'INTERVAL', schedule: undefined, interval: 'PT1S', target: { handler: 'work' } })
  await node.ask('POST /v1/jobs', {
    ...{ name: 'broken', type: 'ONE_SHOT', target: { handler: 'broken' }, retryPolicy: { maxAttempts: 1 } },
  })
  await until(async () => (await node.ask('GET /v1/dead-letters')).body.items.length > 0, waitMs)
})
afterAll(async () => {
  await worker.stop()
  await node[Symbol.asyncDispose]()
})

describe('Now', () => {
  it('says what runs, what waits and what failed', async () => {
    await using browser = await openBrowser(node.url)
    const { page, complaints } = browser
    await page.getByText(/\d+ running, \d+ ready to start/).waitFor()
    await page.getByText('out of range').waitFor()
    await page.getByText(/became dead letters in the last hour/).waitFor()
    // Live: figures of the minute come without a reload.
    await page
      .getByText(/[1-9]\d* in the hour/)
      .first()
      .waitFor()
    expect(complaints).toEqual([])
  })

  it('names a pool that nobody serves, and one that is paused', async () => {
    await node.ask('POST /v1/pools', { name: 'lonely' })
    await node.ask('POST /v1/jobs', { name: 'waits', type: 'ONE_SHOT', target: { handler: 'work', pool: 'lonely' } })
    await using browser = await openBrowser(node.url)
    const { page } = browser
    await page.getByText('1 execution waits in the pool lonely, which no worker serves.').waitFor()
    await node.ask('POST /v1/pools/lonely/pause')
    await page.getByText('The pool lonely is paused, and 1 execution waits.').waitFor()
    await node.ask('POST /v1/pools/lonely/resume')
  })
})

describe('Ahead', () => {
  it('shows coming fires, and which jobs collide', async () => {
    await using browser = await openBrowser(`${node.url}/ahead`)
    const { page, complaints } = browser
    await page.getByText(/fires of 3 jobs/).waitFor()
    await page.getByRole('link', { name: 'hourly-one' }).first().waitFor()
    const map = page.getByRole('img', { name: /coming fires/ })
    await map.focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText(/\d\d:\d\d to \d\d:\d\d: [\d,]+ fires?/).waitFor()
    await page.getByRole('button', { name: '30 days' }).click()
    await page.waitForURL('**/ahead?span=month')
    await page.getByText('one hour per cell').waitFor()
    expect(complaints).toEqual([])
  })
})

describe('Workers', () => {
  it('lists pools, workers and nodes; an admin pauses a pool and resumes it', async () => {
    await using browser = await openBrowser(`${node.url}/workers`)
    const { page, complaints } = browser
    await page.getByRole('cell', { name: /overview-worker/ }).waitFor()
    await page.getByText('64 shards, all led').waitFor()
    await page.getByRole('button', { name: 'Pause default' }).click()
    await page.getByRole('dialog', { name: 'Pause the pool default?' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Pause it' }).click()
    await page.getByRole('button', { name: 'Resume default' }).click()
    await page.getByRole('button', { name: 'Pause default' }).waitFor()
    expect(complaints).toEqual([])
  })
})

describe('A worker', () => {
  it('says where it works and what it holds; executions lead there', async () => {
    const { promise: over, resolve: end } = Promise.withResolvers<void>()
    const holding = createWorker({
      urls: [node.url],
      name: 'holding-worker',
      handlers: [implementHandler(defineHandler<null>({ name: 'hold', pool: 'held' }), () => over)],
    })
    await holding.start()
    const { body } = await node.ask('POST /v1/jobs', {
      ...{ name: 'held run', type: 'ONE_SHOT', target: { pool: 'held', handler: 'hold' } },
    })
    await using browser = await openBrowser(`${node.url}/executions/${body.jobId}`)
    const { page, complaints } = browser
    await page.getByRole('link', { name: holding.workerId }).click()
    await page.getByRole('heading', { name: 'holding-worker' }).waitFor()
    await page.getByRole('table', { name: 'Pools that the worker serves' }).getByText('hold', { exact: true }).waitFor()
    await expectAccessible(page)
    await page.getByRole('table', { name: 'Executions that the worker holds' }).getByText('held run').click()
    await page.getByRole('heading', { name: 'held run' }).waitFor()
    end()
    await holding.stop()
    await page.goto(`${node.url}/workers/${holding.workerId}`)
    await page.getByText('This worker is not registered any more').waitFor()
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
  })
})

describe('Proof', () => {
  it('compares a range on request', async () => {
    await using browser = await openBrowser(`${node.url}/proof`)
    const { page, complaints } = browser
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText(/(Clean|Nothing was found.*): [\d,]+ occurrences of \d+ jobs compared/).waitFor()
    expect(complaints).toEqual([])
  })
})

describe.each(['/', '/ahead', '/ahead?span=month', '/workers', '/proof'])('%s', (path) => {
  it.each([
    [1_440, 'light'],
    [1_440, 'dark'],
    [375, 'light'],
    [375, 'dark'],
  ] as const)('%i pixels, %s: accessible, and nothing to scroll sideways', async (width, theme) => {
    await using browser = await openBrowser(node.url + path, { width, theme })
    const { page } = browser
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByRole('status', { name: 'Loading' }).first().waitFor({ state: 'detached' })
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
  })
})

it('a reader sees no action', async () => {
  const auth = { jwtSecret: 'a secret of thirty-two characters, at least' }
  await using other = await httpNode({ engine: ampleTimes, auth })
  const { key } = await createApiKey(other.databaseUrl, { name: 'reader', tenant: 'acme', scopes: ['jobs:read'] })
  await using browser = await openBrowser(`${other.url}/workers`)
  const { page } = browser
  await page.getByLabel('Token').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('64 shards, all led').waitFor()
  expect(await page.getByRole('button', { name: /^(Pause|Resume)/ }).count()).toBe(0)
})
