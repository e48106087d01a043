/** Views of runs and of administration, with data in them: accessible, and nothing to scroll sideways. */
import { expect, it } from 'vitest'
import { expectAccessible, expectNoSidewaysScroll, openBrowser } from '../support/browser.ts'
import { runRig } from './run-rig.ts'

it.each([
  [1_440, 'light'],
  [1_440, 'dark'],
  [375, 'light'],
  [375, 'dark'],
] as const)('%i pixels, %s', async (width, theme) => {
  await using rig = await runRig()
  const [dead] = await rig.deadCharges(2)
  const running = await rig.speaker()
  rig.say('a long line '.repeat(30), { percent: 40 })
  await rig.node.ask('POST /v1/tokens', { name: 'a worker', scopes: ['work'] })
  await using browser = await openBrowser(rig.node.url, { width, theme })
  const { page, complaints } = browser
  const look = async (path: string, waitFor: string) => {
    await page.goto(rig.node.url + path)
    await page.getByText(waitFor).first().waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
  }
  await look('/executions', 'charge')
  if (width < 600) await page.getByRole('button', { name: 'Filters' }).click()
  await page.getByLabel('Time').selectOption('exact')
  await expectAccessible(page)
  await expectNoSidewaysScroll(page)
  await page.getByRole('button', { name: 'Cancel matching…' }).click()
  await page.getByText('1 execution matches.').waitFor()
  await expectAccessible(page)
  await look(`/executions/${running}`, 'a long line')
  await page.getByText('40 %').waitFor()
  await look(`/executions/${dead}`, 'was declined')
  await page.getByText('Stack').click()
  await expectNoSidewaysScroll(page)
  await look('/dead-letters', 'PaymentRequired')
  await look('/dead-letters?group=ATTEMPTS_USED_UP:PaymentRequired', 'was declined')
  await page.locator('summary').first().click()
  await page.getByText('Open execution').waitFor()
  await expectAccessible(page)
  await expectNoSidewaysScroll(page)
  await look('/audit', 'api_key.created')
  await page.locator('summary').first().click()
  await expectNoSidewaysScroll(page)
  await look('/tokens', 'a worker')
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).waitFor()
  await expectAccessible(page)
  expect(complaints).toEqual([])
})
