/** Tenants, for the operator: what is declared, what each uses, and how a declaration is made, changed and deleted. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey } from '../../packages/server/src/administration/api-keys.ts'
import { Tally } from '../../packages/server/src/stats/tally.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { writeStats } from '../../packages/server/src/store/stats/write.ts'
import { expectAccessible, expectNoSidewaysScroll, openBrowser, pressInTurn } from '../support/browser.ts'
import { ampleTimes } from '../support/carillon.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { until } from '../support/until.ts'
import { signIn } from './run-rig.ts'

let node: HttpNode
const dayMs = 86_400_000
const auth = { jwtSecret: 'a secret of thirty-two characters, at least' }

beforeAll(async () => {
  node = await httpNode({ engine: ampleTimes })
  await node.ask('PUT /v1/tenants/acme', { weight: 3, jitterSec: 90, maxJobs: 50, description: 'Gold' })
  await node.ask('PUT /v1/tenants/beta', {})
  await used('acme', { 0: 300, 1: 420, 2: 380, 9: 500 })
  await used('stray', { 0: 240 })
  const pending = { type: 'ONE_SHOT', target: { handler: 'nobody-has-it' } }
  for (let i = 0; i < 2; i++) await node.ask('POST /v1/jobs', pending, { 'carillon-tenant': 'acme' })
})
afterAll(() => node?.[Symbol.asyncDispose]())

/** Successes by how many days ago. */
async function used(tenant: string, days: Record<number, number>): Promise<void> {
  const database = new Database({
    ...{ url: node.databaseUrl, maxConnections: 1, statementTimeoutMs: 9_000, applicationName: 'test' },
  })
  const { from } = (await node.ask('GET /v1/usage')).body
  const today = Date.parse(from) + 29 * dayMs
  const rows = Object.entries(days).flatMap(([ago, succeeded]) => {
    const tally = Object.assign(new Tally(), { succeeded })
    for (let i = 0; i < succeeded; i++) tally.duration.measure(800)
    const row = { tenant, at: today - Number(ago) * dayMs, figures: tally.stored() }
    return [
      { ...row, pool: '', handler: '' },
      { ...row, pool: 'default', handler: '' },
    ]
  })
  await writeStats(database, { step: 'DAY', nodeId: null, rows })
  await database.end()
}

describe('tenants', () => {
  it('are listed with weight, share and what they have now; by keys and by the palette', async () => {
    await using browser = await openBrowser(node.url)
    const { page, complaints } = browser
    await page.getByRole('heading', { level: 1 }).waitFor()
    await pressInTurn(page, 'g', 's')
    await page.waitForURL('**/tenants')
    const declared = page.getByRole('table', { name: 'Tenants that are declared, by name' })
    const acme = declared.getByRole('row', { name: /acme/ })
    await acme.getByText('75 %').waitFor()
    await acme.getByText('Gold').waitFor()
    await acme.getByRole('cell', { name: '2', exact: true }).waitFor()
    await declared.getByRole('row', { name: /beta/ }).getByText('0 %').waitFor()
    const others = page.getByRole('table', { name: 'Tenants at work that are not declared' })
    await others.getByRole('row', { name: /stray/ }).getByText('25 %').waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Tenants').waitFor()
    await page.keyboard.press('Escape')
    await page.goto(`${node.url}/proof`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('Tenants')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/tenants')
    await page.getByRole('link', { name: 'acme' }).click()
    await page.getByRole('heading', { name: 'acme' }).waitFor()
    await page.getByText('1,600 executions ended, 0 of them dead.').waitFor({ state: 'attached' })
    await page.getByText('at most 50').waitFor()
    await page.getByText('Day by day').click()
    await page
      .getByRole('table', { name: /Usage by day/ })
      .getByText('500')
      .first()
      .waitFor()
    await page.getByLabel('Days shown').selectOption('Last 90 days')
    await page.waitForURL('**/tenants/acme?days=90')
    expect(complaints).toEqual([])
  })

  it('are declared, changed and deleted, each after it was said what that touches', async () => {
    await using browser = await openBrowser(`${node.url}/tenants`)
    const { page, complaints } = browser
    await page.getByRole('button', { name: 'Declare tenant' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('silver')
    await dialog.getByLabel('Weight').fill('2')
    await dialog.getByRole('button', { name: 'Review' }).click()
    await dialog.getByText(/Its weight is 2: what comes in from now on/).waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Declare it' }).click()
    await page.getByRole('link', { name: 'silver' }).click()
    await page.getByText('It used nothing in this time').waitFor()

    await page.getByRole('button', { name: 'Edit' }).click()
    expect(await dialog.getByRole('button', { name: 'Review' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Default jitter, in seconds').fill('120')
    await dialog.getByRole('button', { name: 'Review' }).click()
    await dialog.getByText(/spread over 120 s/).waitFor()
    // Someone else was faster.
    await node.ask('PUT /v1/tenants/silver', { weight: 4 })
    await dialog.getByRole('button', { name: 'Change it' }).click()
    await dialog.getByText(/at version 2, not/).waitFor()
    await dialog.getByText(/Its weight is 2 instead of 4/).waitFor()
    await dialog.getByRole('button', { name: 'Back' }).click()
    await dialog.getByLabel('Weight').fill('4')
    await dialog.getByRole('button', { name: 'Review' }).click()
    await dialog.getByText(/Its weight is/).waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Change it' }).click()
    await page.getByText('up to 2 min').waitFor()
    expect((await node.ask('GET /v1/tenants/silver')).body).toMatchObject({ weight: 4, jitterSec: 120 })

    await page.getByRole('button', { name: 'Delete…' }).click()
    await dialog.getByText('Its weight goes from 4 to 1').waitFor()
    await dialog.getByRole('button', { name: 'Delete it' }).click()
    await page.waitForURL('**/tenants')
    await page.getByRole('link', { name: 'silver' }).waitFor({ state: 'detached' })
    expect(complaints.filter((text) => !/412|404/.test(text))).toEqual([])
  })

  it('stay while they have work, and the page says so', async () => {
    await using browser = await openBrowser(`${node.url}/tenants/acme`)
    const { page } = browser
    await page.getByRole('button', { name: 'Delete…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Delete it' }).click()
    await dialog.getByText('the tenant acme has unfinished executions').waitFor()
    await expectAccessible(page)
  })

  it('that are not declared have usage, and can be declared', async () => {
    await using browser = await openBrowser(`${node.url}/tenants/stray`)
    const { page } = browser
    await page.getByText('Not declared: it works with weight 1.').waitFor()
    await page.getByRole('button', { name: 'Declare' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByLabel('Name').inputValue()).toBe('stray')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Act for it' }).click()
    await page.waitForURL(`${node.url}/`)
    expect(await page.getByLabel('Tenant').inputValue()).toBe('stray')
  })

  it('are the operator’s: others neither see the view nor open it', async () => {
    await using other = await httpNode({ engine: ampleTimes, auth })
    const options = { name: 'admin', tenant: 'acme', scopes: ['jobs:read', 'admin'] as const }
    const { key } = await createApiKey(other.databaseUrl, { ...options, scopes: [...options.scopes] })
    await using browser = await openBrowser(`${other.url}/tenants`)
    const { page } = browser
    await signIn(page, key)
    await page.getByText('Tenants are the operator’s').waitFor()
    const views = page.getByRole('navigation', { name: 'Views' })
    await views.getByRole('link', { name: 'Audit' }).waitFor()
    expect(await views.getByRole('link', { name: 'Tenants' }).count()).toBe(0)
    await page.getByRole('link', { name: 'Jobs', exact: true }).click()
    await page.waitForURL('**/jobs')
    await pressInTurn(page, 'g', 's')
    await pressInTurn(page, 'g', 'u')
    await page.waitForURL('**/audit')
  })
})

it('an installation without declarations says that none is needed, and a node that is away is told', async () => {
  await using empty = await httpNode({ engine: ampleTimes })
  await using browser = await openBrowser(`${empty.url}/tenants`)
  const { page } = browser
  await page.getByText('No tenant is declared').waitFor()
  await page.route('**/*', (route) => route.abort())
  await page.getByText('The node does not answer.').waitFor()
  await page.unroute('**/*')
  await until(async () => (await page.getByText('The node does not answer.').count()) === 0)
})

describe.each(['/tenants', '/tenants/acme?days=90', '/tenants/beta'])('%s', (path) => {
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
