/** Tokens and the audit, for admins. */
import { expect, it } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { waitMs } from '../support/wait-ms.ts'
import { runRig, signIn } from './run-rig.ts'

const auth = { jwtSecret: 'a secret of thirty-two characters, at least' }

it('a token that is created in the page works, and when it is revoked it does not', async () => {
  await using rig = await runRig({ auth })
  const me = (key: string) => rig.node.ask('GET /v1/me', undefined, { authorization: `Bearer ${key}` })
  await using browser = await openBrowser(`${rig.node.url}/tokens`)
  const { page, complaints } = browser
  const admin = await rig.key(['jobs:read', 'admin'])
  await page.getByLabel('Token').waitFor()
  // Nobody was signed in: the node refused to say who is asking.
  await expect.poll(() => complaints.length).toBe(1)
  complaints.length = 0
  await signIn(page, admin)
  await page.getByRole('button', { name: 'Create token' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('deploys')
  // What the caller lacks it cannot give away.
  expect(await dialog.getByLabel(/jobs:write/).count()).toBe(0)
  await dialog.getByLabel('Valid for').selectOption('30 days')
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await dialog.getByText('it is shown only once').waitFor()
  const key = await dialog.getByRole('textbox', { name: 'Key' }).inputValue()
  expect(await me(key)).toMatchObject({ status: 200, body: { scopes: ['jobs:read'], tenant: 'default' } })
  await dialog.getByRole('button', { name: 'Copy the key' }).waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await page.content()).not.toContain(key)

  await page
    .getByRole('row', { name: /deploys/ })
    .getByText(/Valid, expires in/)
    .waitFor()
  await page.getByRole('button', { name: 'Revoke deploys' }).click()
  await page.getByRole('dialog', { name: 'Revoke token' }).getByRole('button', { name: 'Revoke' }).click()
  await page
    .getByRole('row', { name: /deploys/ })
    .getByText(/Revoked/)
    .waitFor()
  await until(async () => (await me(key)).status === 401, waitMs)
  expect(complaints).toEqual([])
})

it('the audit is filtered by what was done, to what, and when', async () => {
  await using rig = await runRig()
  const job = { key: 'nightly', type: 'CRON', schedule: '0 3 * * *', target: { handler: 'charge', pool: 'billing' } }
  const { jobId } = (await rig.node.ask('POST /v1/jobs', job)).body
  await rig.node.ask('POST /v1/jobs', { ...job, key: 'hourly', schedule: '0 * * * *' })
  await rig.node.ask(`POST /v1/jobs/${jobId}/pause`)
  await using browser = await openBrowser(`${rig.node.url}/audit`)
  const { page, complaints } = browser
  const rows = page.getByRole('row')
  await rows.filter({ hasText: 'job.paused' }).waitFor()
  await page.getByLabel('Action').fill('job.created')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/audit?action=job.created')
  await rows.filter({ hasText: 'job.paused' }).waitFor({ state: 'detached' })
  await rows.filter({ hasText: 'hourly' }).waitFor()
  await page.getByLabel('Subject').fill(jobId)
  await page.keyboard.press('Tab')
  await rows.filter({ hasText: 'hourly' }).waitFor({ state: 'detached' })
  await rows.filter({ hasText: 'nightly' }).locator('summary').click()
  await page.getByText('"key": "nightly"').waitFor()
  expect(await page.getByRole('link', { name: jobId }).getAttribute('href')).toBe(`/jobs/${jobId}`)
  await page.getByLabel('Time').selectOption('exact')
  await page.getByLabel('To', { exact: true }).fill('2001-01-01T00:00:00')
  await page.getByText('No entries match').waitFor()
  expect(complaints).toEqual([])
})
