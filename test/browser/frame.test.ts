/** What every view stands in: signing in, keys, the palette, a node that goes away. */
import type { Request } from 'playwright-core'
import { expect, it } from 'vitest'
import { createApiKey } from '../../packages/server/src/administration/api-keys.ts'
import { startCarillon } from '../integration/cli/cli.ts'
import { expectAccessible, expectNoSidewaysScroll, openBrowser, pressInTurn } from '../support/browser.ts'
import { ampleTimes } from '../support/carillon.ts'
import { httpNode } from '../support/http-node.ts'
import { createDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { waitMs } from '../support/wait-ms.ts'

const auth = { jwtSecret: 'a secret of thirty-two characters, at least' }

it('asks for a token, says what is wrong with one, and shows only what it allows', async () => {
  await using node = await httpNode({ engine: ampleTimes, auth })
  const { key } = await createApiKey(node.databaseUrl, { name: 'reader', tenant: 'acme', scopes: ['jobs:read'] })
  await using browser = await openBrowser(node.url)
  const { page } = browser
  await page.getByLabel('Token').fill('crl_0123456789abcdef_wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('input[aria-invalid]').waitFor()
  await expectAccessible(page)
  await page.getByLabel('Token').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  const views = page.getByRole('navigation', { name: 'Views' })
  await views.getByRole('link', { name: 'Jobs', exact: true }).waitFor()
  expect(await views.getByRole('link', { name: 'Tokens' }).count()).toBe(0)
  expect(page.url()).not.toContain('crl_')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
})

it('is worked by keys alone', async () => {
  await using node = await httpNode({ engine: ampleTimes })
  await using browser = await openBrowser(node.url)
  const { page, complaints } = browser
  await page.getByRole('heading', { level: 1 }).waitFor()
  await pressInTurn(page, 'g', 'j')
  await page.waitForURL('**/jobs')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'View, job or id' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.type('Proof')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/proof')
  expect(complaints).toEqual([])
})

it('opens what the palette was told, also when the page is slower than the hands', async () => {
  await using node = await httpNode({ engine: ampleTimes })
  await using browser = await openBrowser(node.url)
  const { page } = browser
  await page.getByRole('heading', { level: 1 }).waitFor()
  const session = await page.context().newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: 20 })
  for (const view of ['Proof', 'Jobs', 'Workers']) {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'View, job or id' }).waitFor()
    // In one task of the page: nothing that the page puts off is done between the text and Enter.
    await page.evaluate(`{
      const input = document.querySelector('[role=combobox]')
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, '${view}')
      input.dispatchEvent(new Event('input', { bubbles: true }))
      input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
    }`)
    await page.waitForURL(`**/${view.toLowerCase()}`)
  }
})

it('says that its node was killed, and goes on with the next one', async () => {
  const database = await createDatabase()
  const start = async (port: string) => {
    const node = startCarillon(['serve', '--database-url', database.url, '--port', port])
    await until(() => /http:\/\/127\.0\.0\.1:\d+/.test(node.output()), waitMs)
    return { node, url: /http:\/\/127\.0\.0\.1:\d+/.exec(node.output())![0] }
  }
  const first = await start('0')
  const nodes = [first.node]
  try {
    await using browser = await openBrowser(first.url)
    const { page } = browser
    await page.getByText(/\d+ running/).waitFor()
    const away = page.getByText('The node does not answer.')
    first.node.child.kill('SIGKILL')
    await away.waitFor()
    await expectAccessible(page)
    nodes.push((await start(new URL(first.url).port)).node)
    await away.waitFor({ state: 'detached' })
    // The pages go on as well: another view is opened without a reload.
    await page.getByRole('link', { name: 'Proof' }).click()
    await page.getByRole('button', { name: 'Compare' }).waitFor()
  } finally {
    for (const { child } of nodes) child.kill('SIGKILL')
    await Promise.all(nodes.map(({ ended }) => ended))
    await database.drop()
  }
})

it('the first load is small', async () => {
  await using node = await httpNode({ engine: ampleTimes })
  await using browser = await openBrowser('about:blank')
  const { page } = browser
  const scripts: Request[] = []
  page.on('request', (request) => {
    if (request.resourceType() === 'script') scripts.push(request)
  })
  await page.goto(node.url)
  await page.getByText('Executions per minute').waitFor()
  const sizes = await Promise.all(scripts.map((script) => script.sizes()))
  const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0)
  expect(bytes).toBeGreaterThan(50_000)
  expect(bytes).toBeLessThan(250_000)
})

it.each([
  [1_440, 'light'],
  [1_440, 'dark'],
  [375, 'light'],
  [375, 'dark'],
] as const)('%i pixels, %s: accessible, and nothing to scroll sideways', async (width, theme) => {
  await using node = await httpNode({ engine: ampleTimes })
  await using browser = await openBrowser(node.url, { width, theme })
  const { page } = browser
  await page.getByRole('heading', { level: 1 }).waitFor()
  if (width < 600) await page.getByRole('button', { name: 'Menu' }).click()
  await expectAccessible(page)
  await expectNoSidewaysScroll(page)
})
