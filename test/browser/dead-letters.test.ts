/** Dead letters: by error, looked into, replayed one, some or all, purged. */
import { expect, it } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { runRig, signIn } from './run-rig.ts'

it('a group is replayed at a rate, its progress is seen, and its executions succeed', async () => {
  await using rig = await runRig()
  const ids = await rig.deadCharges(6)
  const other = await rig.speaker()
  rig.fail()
  await rig.reach(other, 'DEAD')
  rig.repair()
  await using browser = await openBrowser(`${rig.node.url}/dead-letters`)
  const { page, complaints } = browser
  await page.getByRole('link', { name: 'TypeError' }).waitFor()
  await page.getByRole('button', { name: 'Replay 6 PaymentRequired' }).click()
  const dialog = page.getByRole('dialog', { name: 'Replay dead letters' })
  await dialog.getByText('6 executions match.').waitFor()
  await dialog.getByLabel('Executions per second').fill('0.5')
  await dialog.getByRole('button', { name: 'Replay 6' }).click()
  // The page asks every second; at this rate ten pass between the first and the last.
  await page.getByText(/^Replaying [1-5] of 6….*At most 0.5 a second\.$/).waitFor()
  await page.getByText('Replayed 6.').waitFor()
  for (const id of ids) await rig.reach(id, 'SUCCEEDED')
  await page.getByRole('link', { name: 'PaymentRequired' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'TypeError' }).waitFor()
  expect(complaints).toEqual([])
})

it('a letter is looked into where it stands, and those that are selected are replayed', async () => {
  await using rig = await runRig()
  const [first, , third] = await rig.deadCharges(3)
  await using browser = await openBrowser(`${rig.node.url}/dead-letters`)
  const { page, complaints } = browser
  await page.getByRole('link', { name: 'PaymentRequired' }).click()
  await page.waitForURL('**/dead-letters?group=ATTEMPTS_USED_UP%3APaymentRequired')
  const letters = page.getByRole('listitem').filter({ hasText: 'was declined' })
  await letters.filter({ hasText: 'customer 2' }).locator('summary').first().click()
  await page.getByText('"customer": 2').waitFor()
  await page.getByRole('link', { name: 'Open execution' }).waitFor()
  for (const id of [first, third]) await page.getByRole('checkbox', { name: id }).check()
  rig.repair()
  await page.getByRole('button', { name: 'Replay 2 selected…' }).click()
  await page.getByRole('dialog').getByText('2 executions run again').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Replay 2' }).click()
  await page.getByText('Replayed 2 of 2.').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByText('Select all 1 shown').waitFor()
  await page.getByText('1 dead, last').waitFor()
  for (const id of [first!, third!]) await rig.reach(id, 'SUCCEEDED')
  expect(complaints).toEqual([])
})

it('those that are selected are purged', async () => {
  await using rig = await runRig()
  const [first, second, third] = await rig.deadCharges(3)
  await using browser = await openBrowser(`${rig.node.url}/dead-letters?group=ATTEMPTS_USED_UP:PaymentRequired`)
  const { page, complaints } = browser
  for (const id of [first, third]) await page.getByRole('checkbox', { name: id }).check()
  await page.getByRole('button', { name: 'Purge 2 selected…' }).click()
  await page.getByRole('dialog').getByText('2 dead letters are struck off this list').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Purge 2' }).click()
  await page.getByText('Purged 2 of 2.').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByText('Select all 1 shown').waitFor()
  await page.getByRole('checkbox', { name: second }).waitFor()
  for (const id of [first!, third!]) await rig.reach(id, 'DEAD')
  expect(complaints).toEqual([])
})

it('purging says how many it strikes off', async () => {
  await using rig = await runRig()
  const [id] = await rig.deadCharges(2)
  await using browser = await openBrowser(`${rig.node.url}/dead-letters?group=ATTEMPTS_USED_UP:PaymentRequired`)
  const { page, complaints } = browser
  await page.getByRole('button', { name: 'Purge the whole group' }).click()
  const dialog = page.getByRole('dialog', { name: 'Purge dead letters' })
  await dialog.getByText('2 executions match.').waitFor()
  await dialog.getByRole('button', { name: 'Keep them' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Purge the whole group' }).click()
  await dialog.getByRole('button', { name: 'Purge 2' }).click()
  await page.getByText('Purged 2.').waitFor()
  await page.getByText('No dead letters are left here').waitFor()
  await rig.reach(id!, 'DEAD')
  expect(complaints).toEqual([])
})

it('those that ended without an error are a group too', async () => {
  await using rig = await runRig()
  const body = { type: 'ONE_SHOT', target: { handler: 'unknown', pool: 'billing' }, deadlineSec: 1 }
  const { jobId } = (await rig.node.ask('POST /v1/jobs', body)).body
  await rig.deadCharges(1)
  await rig.reach(jobId, 'DEAD')
  await using browser = await openBrowser(`${rig.node.url}/dead-letters`)
  const { page, complaints } = browser
  const [group] = (await rig.node.ask('GET /v1/dead-letters/groups?handler=unknown')).body.groups
  expect(group).toMatchObject({ error: null, count: 1 })
  await page
    .getByRole('row', { name: /unknown/ })
    .getByRole('link')
    .click()
  await page.getByText('Select all 1 shown').waitFor()
  await page.getByText('unknown', { exact: true }).waitFor()
  expect(complaints).toEqual([])
})

it('one who may only read can look, and do nothing', async () => {
  await using rig = await runRig({ auth: { jwtSecret: 'a secret of thirty-two characters, at least' } })
  await rig.deadCharges(1)
  await using browser = await openBrowser(`${rig.node.url}/dead-letters`)
  const { page } = browser
  await signIn(page, await rig.key(['jobs:read']))
  await page.getByRole('link', { name: 'PaymentRequired' }).click()
  // The list of groups, which is shown until the group is, has the message of one of its letters too.
  await page.getByRole('listitem').filter({ hasText: 'customer 1' }).locator('summary').click()
  await page.getByText('"customer": 1').waitFor()
  expect(await page.getByRole('button', { name: /Replay|Purge/ }).count()).toBe(0)
  expect(await page.getByRole('checkbox').count()).toBe(0)
})
