/** Jobs in the dashboard: found, created, edited, run by hand, and looked at, with a worker that runs them. */
import { createWorker, defineHandler, implementHandler, type Worker } from '@carillon/sdk'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey } from '../../packages/server/src/administration/api-keys.ts'
import { expectAccessible, expectNoSidewaysScroll, openBrowser } from '../support/browser.ts'
import { ampleTimes } from '../support/carillon.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'

const daily = { type: 'CRON', schedule: '0 3 * * *', target: { handler: 'greet' } }
let node: HttpNode
let worker: Worker
const payloads: unknown[] = []

beforeAll(async () => {
  node = await httpNode({ engine: ampleTimes })
  const greet = implementHandler(defineHandler<unknown>({ name: 'greet' }), (ctx) => {
    payloads.push(ctx.payload)
    return 'hello'
  })
  worker = createWorker({ urls: node.url, handlers: [greet] })
  await worker.start()
})
afterAll(async () => {
  await worker.stop({ drainSec: 1 })
  await node[Symbol.asyncDispose]()
})

async function create(job: object): Promise<string> {
  const { status, body } = await node.ask('POST /v1/jobs', job)
  expect(status, JSON.stringify(body)).toBe(201)
  return body.jobId
}

describe('the form', () => {
  it('creates a cron job, previews it, and its page shows it fire', async () => {
    await using browser = await openBrowser(`${node.url}/jobs/new`)
    const { page, complaints } = browser
    await page.getByLabel('Name').fill('every second')
    await page.getByLabel('Schedule').fill('* * * * * *')
    await page.getByLabel('Time zone').fill('Europe/Berlin')
    await page.getByLabel('Handler').fill('greet')
    await page.getByLabel('Labels').fill('team: bells')
    await page.getByLabel('Payload').fill('{"from": "the form"}')
    await page.getByText('Times in Europe/Berlin').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Create job' }).click()
    await page.getByRole('heading', { level: 1, name: 'every second' }).waitFor()
    const runs = page.getByRole('list', { name: 'Runs, oldest first' })
    await runs
      .getByRole('link', { name: /^Succeeded/ })
      .first()
      .waitFor()
    expect(payloads).toContainEqual({ from: 'the form' })
    await runs
      .getByRole('link', { name: /^Succeeded/ })
      .nth(1)
      .waitFor()
    await page.getByText('team: bells').waitFor()
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('button', { name: 'Delete job' }).click()
    await page.waitForURL('**/jobs')
    expect(complaints).toEqual([])
  })

  it('says at its field what the node does not accept', async () => {
    await using browser = await openBrowser(`${node.url}/jobs/new`)
    const { page } = browser
    await page.getByLabel('Schedule').fill('61 * * * *')
    const schedule = page.getByRole('textbox', { name: 'Schedule' })
    await page.locator('[aria-invalid]').waitFor()
    await expect.poll(() => schedule.getAttribute('aria-invalid')).toBe('true')
    await schedule.fill('* * * * *')
    await page.getByText(/^Times in/).waitFor()
    await page.getByLabel('Payload').fill('{')
    await page.getByText(/This is not JSON/).waitFor()
    await page.getByRole('button', { name: 'Create job', disabled: true }).waitFor()
    await page.getByLabel('Payload').fill('')
    await page.getByRole('button', { name: 'Create job' }).click()
    await page.getByRole('alert').waitFor()
    const handler = page.getByRole('textbox', { name: 'Handler' })
    await expect.poll(() => handler.getAttribute('aria-invalid')).toBe('true')
    await expectAccessible(page)
  })

  it('marks what a change of the clock does', async () => {
    await using browser = await openBrowser(`${node.url}/jobs/new`)
    const { page, complaints } = browser
    await page.getByLabel('Schedule').fill('30 2 * * *')
    await page.getByLabel('Time zone').fill('America/New_York')
    await page.getByLabel('When the clock skips the time').selectOption('SKIP')
    await page.getByLabel('When the time occurs twice').selectOption('BOTH')
    // The next change of the clock is always within sight: either a time is skipped or one comes twice.
    await page
      .getByText(/The clock (jumps over|shows this time twice)/)
      .first()
      .waitFor()
    expect(complaints).toEqual([])
  })
})

it('is edited as YAML: the form shows it too, and what the form does not know stays', async () => {
  const jobId = await create({ ...daily, key: 'as-yaml', heartbeatTimeoutSec: 9, timezone: 'Europe/Berlin' })
  await using browser = await openBrowser(`${node.url}/jobs/${jobId}/edit`)
  const { page, complaints } = browser
  await page.getByRole('tab', { name: 'YAML' }).click()
  const yaml = page.getByLabel('Definition as YAML')
  const text = await yaml.inputValue()
  expect(text).toContain('heartbeatTimeoutSec: 9')
  await yaml.fill(`${text.replace('0 3 * * *', '15 4 * * *')}labels:\n  team: billing\n`)
  await expectAccessible(page)
  await page.getByRole('tab', { name: 'Form' }).click()
  await expect.poll(() => page.getByRole('textbox', { name: 'Schedule' }).inputValue()).toBe('15 4 * * *')
  await expect.poll(() => page.getByLabel('Labels').inputValue()).toBe('team: billing')
  await page.getByLabel('Timeout of an attempt').fill('42')
  await page.getByRole('button', { name: 'Save job' }).click()
  await page.getByRole('heading', { level: 1, name: 'as-yaml', exact: true }).waitFor()
  const { body } = await node.ask(`GET /v1/jobs/${jobId}`)
  expect(body).toMatchObject({
    ...{ version: 2, schedule: '15 4 * * *', timezone: 'Europe/Berlin', heartbeatTimeoutSec: 9, timeoutSec: 42 },
    labels: { team: 'billing' },
  })
  expect(complaints).toEqual([])
})

it('says who came first when two edit a job, and what to do', async () => {
  const jobId = await create({ ...daily, name: 'contested' })
  await using browser = await openBrowser(`${node.url}/jobs/${jobId}/edit`)
  const { page } = browser
  await page.getByLabel('Schedule').fill('0 5 * * *')
  await node.ask(`PATCH /v1/jobs/${jobId}`, { timeoutSec: 77 })
  await page.getByRole('button', { name: 'Save job' }).click()
  await page.getByText('Version 2 holds now; you began from 1.').waitFor()
  await page.getByText('timeoutSec: 77').waitFor()
  await page.getByRole('button', { name: 'Start again from version 2' }).click()
  await page.getByLabel('Schedule').fill('0 6 * * *')
  await page.getByRole('button', { name: 'Save job' }).click()
  await page.getByRole('heading', { level: 1, name: 'contested', exact: true }).waitFor()
  const { body } = await node.ask(`GET /v1/jobs/${jobId}`)
  expect(body).toMatchObject({ version: 3, schedule: '0 6 * * *', timeoutSec: 77 })
})

it('pauses, says so, resumes, and triggers with another payload', async () => {
  const jobId = await create({ ...daily, name: 'by hand', payload: { n: 1 } })
  await using browser = await openBrowser(`${node.url}/jobs/${jobId}`)
  const { page, complaints } = browser
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Occurrences that pass meanwhile are recorded as skipped.').waitFor()
  await page.getByText('If it were resumed now').waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  await page.getByRole('button', { name: 'Trigger…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Trigger by hand' })
  await dialog.getByLabel('Payload of this run').fill('{"n": 2}')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Trigger now' }).click()
  await dialog.getByText('see its execution').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name: /^Succeeded/ }).waitFor()
  expect(payloads).toContainEqual({ n: 2 })
  expect((await node.ask(`GET /v1/jobs/${jobId}`)).body.payload).toEqual({ n: 1 })
  expect(complaints).toEqual([])
})

it('counts what a backfill would run, runs it and shows its progress', async () => {
  // Not due while the test runs.
  const schedule = `${(new Date().getUTCMinutes() + 30) % 60} * * * *`
  const jobId = await create({ type: 'CRON', schedule, name: 'hourly', target: { handler: 'greet' } })
  await using browser = await openBrowser(`${node.url}/jobs/${jobId}`)
  const { page, complaints } = browser
  await page.getByRole('button', { name: 'Backfill…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Backfill hourly' })
  const to = await dialog.getByLabel('To, exclusive').inputValue()
  const from = new Date(Date.parse(`${to}Z`) - 5 * 3_600_000).toISOString().slice(0, 19)
  await dialog.getByLabel('From').fill(from)
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Count them' }).click()
  await dialog.getByText(/^5 would run/).waitFor()
  expect((await node.ask(`GET /v1/jobs/${jobId}/executions`)).body.items).toEqual([])
  await dialog.getByRole('button', { name: 'Run 5' }).click()
  await page.getByText('Backfilled 5.').waitFor()
  await page.getByText('5 succeeded').waitFor()
  expect(complaints).toEqual([])
})

it('shows versions and what each changed', async () => {
  const jobId = await create({ ...daily, name: 'versioned', payload: { pages: 1 } })
  await node.ask(`PATCH /v1/jobs/${jobId}`, { schedule: '0 7 * * *', payload: { pages: 2 } })
  await using browser = await openBrowser(`${node.url}/jobs/${jobId}`)
  const { page, complaints } = browser
  const versions = page.locator('section', { has: page.getByRole('heading', { name: 'Versions' }) })
  await versions.getByText('Version 2').waitFor()
  const diff = versions.locator('pre')
  await diff.getByText('+ schedule: 0 7 * * *').waitFor()
  await diff.getByText('- schedule: 0 3 * * *').waitFor()
  await diff.getByText('+   pages: 2').waitFor()
  await versions.getByText('Created.', { exact: true }).waitFor()
  expect(complaints).toEqual([])
})

describe('the list', () => {
  it('is searched and filtered by its address, and found by the palette', async () => {
    await create({ ...daily, name: 'Nightly invoices', key: 'invoices', labels: { team: 'accounts' } })
    await create({ type: 'INTERVAL', interval: 'P7D', name: 'Weekly letters', target: { handler: 'send_INVOICE' } })
    await using browser = await openBrowser(`${node.url}/jobs`)
    const { page, complaints } = browser
    const link = (name: string) => page.getByRole('link', { name })
    await link('Nightly invoices').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('invoice')
    await page.waitForURL('**/jobs?search=invoice')
    await page.getByText('2 jobs', { exact: true }).waitFor()
    await page.getByLabel('Type').selectOption('INTERVAL')
    await page.getByText('1 job', { exact: true }).waitFor()
    await page.waitForURL('**/jobs?search=invoice&type=INTERVAL')
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('button', { name: 'team: accounts' }).click()
    await page.getByText('1 job', { exact: true }).waitFor()
    await page.waitForURL('**/jobs?label=team%3Aaccounts')
    await page.getByRole('searchbox').fill('no such job')
    await page.getByText('No job matches').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'View, job or id' }).fill('ND_INV')
    await page.getByRole('option', { name: /Weekly letters/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Weekly letters' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('searches for what is typed while an earlier text is on its way to the address', async () => {
    await using browser = await openBrowser(`${node.url}/jobs`)
    const { page, complaints } = browser
    await page.getByRole('searchbox').waitFor()
    await page.evaluate(`{
      const input = document.querySelector('[type=search]')
      const type = (text) => {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, text)
        input.dispatchEvent(new Event('input', { bubbles: true }))
      }
      const { replaceState } = history
      history.replaceState = (...given) => {
        history.replaceState = replaceState
        type('in two parts')
        replaceState.apply(history, given)
      }
      type('in two')
    }`)
    await page.waitForURL('**/jobs?search=in+two+parts')
    await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('in two parts')
    expect(complaints).toEqual([])
  })

  it('keeps few rows of many in the page and asks for the rest as one scrolls', async () => {
    const jobs = Array.from({ length: 500 }, (_, n) => ({ ...daily, schedule: '0 3 1 1 *', name: `bulk ${n}` }))
    const headers = { 'carillon-tenant': 'many' }
    expect((await node.ask('POST /v1/jobs/batch', { jobs }, headers)).status).toBe(201)
    await using browser = await openBrowser(`${node.url}/jobs`)
    const { page, complaints } = browser
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByLabel('Tenant').fill('many')
    await page.keyboard.press('Enter')
    for (const seen of [100, 200, 300, 400]) {
      await page.getByText(`${seen} so far; more follow`).waitFor()
      await scrollToEnd(page)
    }
    await page.getByText('500 jobs').waitFor()
    // Rows are measured when they are first shown: the end may move down as one comes near it.
    const last = page.locator('tr[aria-rowindex="501"]')
    await expect
      .poll(async () => {
        await scrollToEnd(page)
        return last.count()
      })
      .toBe(1)
    await expect.poll(() => page.getByRole('row').count()).toBeLessThan(60)
    expect(complaints).toEqual([])
  })

  it('shows how to begin where there is nothing', async () => {
    await using browser = await openBrowser(`${node.url}/jobs`)
    const { page, complaints } = browser
    await page.getByLabel('Tenant').fill('newcomer')
    await page.keyboard.press('Enter')
    await page.getByText('There is no job yet').waitFor()
    await page.getByText(/^carillon jobs create/).waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Create the first job' }).click()
    await page.getByRole('heading', { level: 1, name: 'New job' }).waitFor()
    expect(complaints).toEqual([])
  })
})

it('shows no action to one who may only read', async () => {
  await using closed = await httpNode({
    engine: ampleTimes,
    auth: { jwtSecret: 'a secret of thirty-two characters, at least' },
  })
  const writer = await createApiKey(closed.databaseUrl, {
    name: 'w',
    tenant: 'acme',
    scopes: ['jobs:read', 'jobs:write'],
  })
  const reader = await createApiKey(closed.databaseUrl, { name: 'r', tenant: 'acme', scopes: ['jobs:read'] })
  const made = await closed.ask(
    'POST /v1/jobs',
    { ...daily, name: 'theirs' },
    { authorization: `Bearer ${writer.key}` },
  )
  await using browser = await openBrowser(closed.url)
  const { page } = browser
  await page.getByLabel('Token').fill(reader.key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.getByRole('link', { name: 'theirs' }).waitFor()
  expect(await page.getByRole('link', { name: 'New job' }).count()).toBe(0)
  await page.getByRole('link', { name: 'theirs' }).click()
  await page.getByText('Created.', { exact: true }).waitFor()
  for (const name of ['Pause', 'Trigger…', 'Backfill…', 'Delete…']) {
    expect(await page.getByRole('button', { name }).count(), name).toBe(0)
  }
  expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0)
  await page.goto(`${closed.url}/jobs/${made.body.jobId}/edit`)
  await page.getByText('Your token does not allow this').waitFor()
})

describe.each([
  [1_440, 'light'],
  [1_440, 'dark'],
  [375, 'light'],
  [375, 'dark'],
] as const)('at %i pixels, %s', (width, theme) => {
  it('every view is accessible and does not scroll sideways', async () => {
    const key = `looked-at-${width}-${theme}`
    const jobId = await create({
      ...{ ...daily, key, name: 'A job with a rather long name that has to be broken somewhere on a phone' },
      ...{ payload: { text: 'x'.repeat(200) }, labels: { team: 'billing' }, timezone: 'America/New_York' },
    })
    await node.ask(`PATCH /v1/jobs/${jobId}`, { timeoutSec: 60 })
    await node.ask(`POST /v1/jobs/${jobId}/trigger`)
    await using browser = await openBrowser(`${node.url}/jobs`, { width, theme })
    const { page, complaints } = browser
    const look = async (path: string, ready: () => Promise<void>) => {
      await page.goto(node.url + path)
      await ready()
      await expectAccessible(page)
      await expectNoSidewaysScroll(page)
    }
    await look(`/jobs?search=${key}`, () => page.getByText('1 job', { exact: true }).waitFor())
    await look(`/jobs/${jobId}`, () => page.getByRole('link', { name: /^Succeeded/ }).waitFor())
    await look(`/jobs/${jobId}/edit`, () => page.getByText(/^Times in/).waitFor())
    await look('/jobs/new', () => page.getByText(/^Times in/).waitFor())
    expect(complaints).toEqual([])
  })
})

function scrollToEnd(page: Page): Promise<void> {
  return page.evaluate(() => {
    const { scrollTo, document } = globalThis as unknown as {
      scrollTo(x: number, y: number): void
      document: { documentElement: { scrollHeight: number } }
    }
    scrollTo(0, document.documentElement.scrollHeight)
  })
}
