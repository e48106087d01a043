/** The list of executions, and one of them: followed, cancelled, retried. */
import { describe, expect, it } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { waitMs } from '../support/wait-ms.ts'
import { runRig, signIn } from './run-rig.ts'

describe('the list', () => {
  it('keeps its filters in the address, and shows what becomes of what it lists by itself', async () => {
    await using rig = await runRig()
    await rig.deadCharges(2)
    await using browser = await openBrowser(`${rig.node.url}/executions`)
    const { page, complaints } = browser
    await page.getByRole('navigation', { name: 'State' }).getByRole('link', { name: 'Dead' }).click()
    await page.waitForURL('**/executions?state=DEAD')
    const rows = page.getByRole('row')
    await rows.nth(2).waitFor()
    await page.keyboard.press('/')
    await page.getByLabel('Job').and(page.locator(':focus')).waitFor()
    await page.getByLabel('Error').fill('NoSuchError')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/executions?state=DEAD&error=NoSuchError')
    await page.getByText('No executions match').waitFor()
    await page.reload()
    await expect.poll(() => page.getByLabel('Error').inputValue()).toBe('NoSuchError')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await rows.nth(2).waitFor()
    // A third one comes while nobody touches the page.
    await rig.deadCharges(1)
    await rows.nth(3).waitFor()
    await page.getByLabel('Time').selectOption('exact')
    await page.getByLabel('To', { exact: true }).fill('2001-01-01T00:00:00')
    await page.getByText('No executions match').waitFor()
    expect(complaints).toEqual([])
  })

  it('retries all that match, after it has said how many, and shows how far it is', async () => {
    await using rig = await runRig()
    const ids = await rig.deadCharges(5)
    rig.repair()
    await using browser = await openBrowser(`${rig.node.url}/executions?state=DEAD&handler=charge`)
    const { page, complaints } = browser
    await page.getByRole('button', { name: 'Retry matching…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Retry executions' })
    await dialog.getByText('5 executions match.').waitFor()
    await dialog.getByRole('button', { name: 'Retry 5' }).click()
    await page.getByText('Replayed 5.').waitFor()
    await page.getByText('No executions match').waitFor()
    for (const id of ids) await rig.reach(id, 'SUCCEEDED')
    // The address knows the operation: a reload still shows it.
    await page.reload()
    await page.getByText('Replayed 5.').waitFor()
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.getByText('Replayed 5.').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('cancels all that match', async () => {
    await using rig = await runRig()
    const id = await rig.speaker()
    await using browser = await openBrowser(`${rig.node.url}/executions?state=RUNNING`)
    const { page } = browser
    await page.getByRole('button', { name: 'Cancel matching…' }).click()
    await page.getByText('1 execution matches.').waitFor()
    await page.getByRole('button', { name: 'Cancel 1' }).click()
    await page.getByText('Cancelled 1.').waitFor()
    await until(() => rig.aborted.includes(id), waitMs)
  })
})

describe('an execution', () => {
  it('is followed line by line while it runs, with its progress, and each attempt by itself', async () => {
    await using rig = await runRig()
    const id = await rig.speaker({ maxAttempts: 2 })
    await using browser = await openBrowser(`${rig.node.url}/executions/${id}`)
    const { page, complaints } = browser
    const log = page.getByRole('log')
    await log.getByText('attempt 1 begins').waitFor()
    rig.say('the first thing', { done: 3, total: 12 })
    await log.getByText('the first thing').waitFor()
    await page.getByText('3 of 12').waitFor()
    await page.getByRole('progressbar', { name: 'Progress of the handler' }).waitFor()
    await page.getByText(/it is leased by worker rig/).waitFor()

    // Who scrolls up reads on in peace; Follow goes back to the end.
    for (let i = 1; i <= 60; i++) rig.say(`line ${i}`)
    await log.getByText('line 60', { exact: true }).waitFor()
    const isAtEnd = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2)
    await until(isAtEnd, waitMs)
    await log.focus()
    await page.keyboard.press('Home')
    const follow = page.getByLabel('Follow')
    await until(async () => !(await follow.isChecked()), waitMs)
    rig.say('said meanwhile')
    await log.getByText('said meanwhile').waitFor()
    expect(await isAtEnd()).toBe(false)
    await follow.check()
    await until(isAtEnd, waitMs)

    rig.fail()
    await log.getByText('attempt 2 begins').waitFor()
    await log.getByText('Attempt 2', { exact: true }).waitFor()
    await page.getByText('TypeError: it lost its voice', { exact: true }).waitFor()
    rig.end()
    await page.getByText('Attempt 2succeeded').waitFor()
    await page.getByRole('heading', { name: 'What it is doing' }).waitFor({ state: 'detached' })
    await page.getByText('"said"').first().waitFor()
    expect(complaints).toEqual([])
  })

  it('is cancelled, and its handler is aborted', async () => {
    await using rig = await runRig()
    const id = await rig.speaker()
    await using browser = await openBrowser(`${rig.node.url}/executions/${id}`)
    const { page, complaints } = browser
    await page.getByRole('button', { name: 'Cancel…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Cancel this execution' })
    await dialog.getByText(/Its handler is told to stop/).waitFor()
    await dialog.getByRole('button', { name: 'Cancel execution' }).click()
    await until(() => rig.aborted.includes(id), waitMs)
    await page.getByText('Cancelled', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Retry…' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('that is dead says why, and is retried', async () => {
    await using rig = await runRig()
    const [id] = await rig.deadCharges(1)
    await using browser = await openBrowser(`${rig.node.url}/executions`)
    const { page, complaints } = browser
    await page.getByRole('link', { name: 'charge' }).click()
    await page.waitForURL(`**/executions/${id}`)
    await page.getByText('the card of customer 1 was declined').first().waitFor()
    await page.getByText('Attempt 1failed for good').waitFor()
    await page.getByText('Stack').click()
    await page.getByText(/run-rig\.ts/).waitFor()
    rig.repair()
    await page.getByRole('button', { name: 'Retry…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry', exact: true }).click()
    await page.getByText('Succeeded', { exact: true }).first().waitFor()
    await page.getByText('"charged": 1').waitFor()
    expect(complaints).toEqual([])
  })

  it('that is still to come is explained', async () => {
    await using rig = await runRig()
    const body = { type: 'ONE_SHOT', runAt: '2100-01-01T00:00:00Z', target: { handler: 'charge', pool: 'billing' } }
    const { jobId } = (await rig.node.ask('POST /v1/jobs', body)).body
    await using browser = await openBrowser(`${rig.node.url}/executions/${jobId}`)
    await browser.page.getByRole('heading', { name: 'Still to come' }).waitFor()
    await browser.page.getByText(/it is not due until 2100-01-01/).waitFor()
  })

  it('that does not exist is said not to', async () => {
    await using rig = await runRig()
    await using browser = await openBrowser(`${rig.node.url}/executions/01a1e858-1873-8c46-90ab-65c0e269b5de`)
    await browser.page.getByText('It is not there').waitFor()
  })
})

it('shows no action to one who may only read', async () => {
  await using rig = await runRig({ auth: { jwtSecret: 'a secret of thirty-two characters, at least' } })
  const [id] = await rig.deadCharges(1)
  await using browser = await openBrowser(`${rig.node.url}/executions`)
  const { page } = browser
  await signIn(page, await rig.key(['jobs:read']))
  await page.getByRole('row').nth(1).waitFor()
  expect(await page.getByRole('button', { name: /matching/ }).count()).toBe(0)
  await page.goto(`${rig.node.url}/executions/${id}`)
  await page.getByText('the card of customer 1 was declined').first().waitFor()
  expect(await page.getByRole('button', { name: /Retry|Cancel/ }).count()).toBe(0)
})
