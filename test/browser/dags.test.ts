/** Graphs and their runs: watched, started, cancelled, paused, retried from the step that failed. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { expectAccessible, expectNoSidewaysScroll, openBrowser, pressInTurn } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { waitMs } from '../support/wait-ms.ts'
import { dagRig, graph } from './dag-rig.ts'
import { signIn } from './run-rig.ts'

const stepRow = (page: Page, name: string) =>
  page
    .getByRole('table', { name: 'Steps of the run' })
    .getByRole('row')
    .filter({
      has: page.getByRole('button', { name, exact: true }),
    })
const drawn = (page: Page, name: string) =>
  page.locator('.react-flow__node').filter({ hasText: new RegExp(`^${name}`) })

describe('a run', () => {
  it('turns green step by step, and is asked for no more once it has ended', async () => {
    await using rig = await dagRig()
    const runId = await rig.start()
    await using browser = await openBrowser(`${rig.node.url}/dag-runs/${runId}`)
    const { page, complaints } = browser
    await page.getByRole('heading', { name: 'Nightly load', level: 1 }).waitFor()
    await stepRow(page, 'extract').getByText('Running').waitFor()
    await stepRow(page, 'notify').getByText('waits for 2 of the 2 it depends on').waitFor()
    await drawn(page, 'extract').waitFor()
    await expect.poll(() => page.locator('.react-flow__node').count()).toBe(5)
    await rig.end('extract')
    await stepRow(page, 'extract').getByText('Succeeded').waitFor()
    await stepRow(page, 'transform').getByText('Running').waitFor()
    await rig.end('transform')
    await rig.end('load_search')
    await stepRow(page, 'notify').getByText('waits for 1 of the 2 it depends on').waitFor()
    await drawn(page, 'notify').getByText('waits for 1 step').waitFor()
    await rig.end('load')
    await rig.end('notify')
    await page.getByText('5 of 5 steps done').waitFor()
    await page.getByText('Succeeded', { exact: true }).first().waitFor()
    await page.getByText('extract → transform → load → notify').waitFor()
    await page.getByText('"2030-01-31"').waitFor()

    let asked = 0
    page.on('request', (request) => {
      if (request.url().includes(`/v1/dag-runs/${runId}`)) asked += 1
    })
    // The clock of the whole page goes on: three rounds of the question that is asked while a run goes on.
    await page.waitForRequest('**/healthz')
    await page.waitForRequest('**/healthz')
    expect(asked).toBe(0)
    expect(complaints).toEqual([])
  })

  it('tells of a step: why it waits, what it depends on, its execution', async () => {
    await using rig = await dagRig()
    const runId = await rig.start()
    await using browser = await openBrowser(`${rig.node.url}/dag-runs/${runId}`)
    const { page, complaints } = browser
    await drawn(page, 'transform').click()
    await page.waitForURL('**?step=transform')
    const detail = page.getByRole('region', { name: 'Step transform' })
    await detail.getByText(/It waits for/i).waitFor()
    await detail.getByRole('button', { name: 'load_search' }).click()
    await page
      .getByRole('region', { name: 'Step load_search' })
      .getByRole('button', { name: /transform/ })
      .click()
    await rig.fail('extract')
    await detail.getByText('Dependency failed').waitFor()
    await detail.getByRole('button', { name: /extract/ }).click()
    const extract = page.getByRole('region', { name: 'Step extract' })
    await extract.getByText('DiskFull no space left').waitFor()
    await page.reload()
    await extract.getByRole('link', { name: 'Open its execution' }).click()
    await page.waitForURL('**/executions/*')
    await page.getByRole('link', { name: runId }).click()
    await page.getByRole('heading', { name: 'Nightly load', level: 1 }).waitFor()
    expect(complaints).toEqual([])
  })

  it('is walked by keys', async () => {
    await using rig = await dagRig()
    const runId = await rig.start()
    await using browser = await openBrowser(`${rig.node.url}/dag-runs/${runId}`)
    const { page, complaints } = browser
    await page.getByRole('img', { name: /Graph of 5 steps/ }).focus()
    await page.keyboard.press('ArrowRight')
    await page.getByText('extract: Running, depends on nothing.').waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.getByText('load: Blocked, depends on transform.').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.getByText('load_search: Blocked, depends on transform.').waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**?step=load_search')
    await page.getByRole('region', { name: 'Step load_search' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('is cancelled, after it was said what that touches', async () => {
    await using rig = await dagRig()
    const runId = await rig.start()
    await using browser = await openBrowser(`${rig.node.url}/dag-runs/${runId}`)
    const { page, complaints } = browser
    await stepRow(page, 'extract').getByText('Running').waitFor()
    await page.getByRole('button', { name: 'Cancel…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Cancel this run of Nightly load?' })
    await dialog.getByText(/1 step runs and is told to stop.*4 steps never start/).waitFor()
    await dialog.getByRole('button', { name: 'Cancel run' }).click()
    await until(() => rig.aborted.includes('extract'), waitMs)
    await page.getByText('5 of 5 steps done').waitFor()
    await page.getByRole('button', { name: 'Retry from what was cancelled: 5 steps…' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('is approved, and goes on', async () => {
    await using rig = await dagRig()
    const steps = [
      { name: 'approve', waitFor: 'SIGNAL' },
      { name: 'next', waitFor: 'SIGNAL', dependsOn: ['approve'], when: 'results.approve.approved' },
    ]
    const { body } = await rig.node.ask('POST /v1/dag-runs', { name: 'Release', steps })
    await using browser = await openBrowser(`${rig.node.url}/dag-runs/${body.runId}`)
    const { page, complaints } = browser
    await stepRow(page, 'approve').getByRole('button', { name: 'approve', exact: true }).click()
    await page.getByRole('button', { name: 'Signal…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Signal approve' })
    await dialog.getByRole('textbox').fill('{"approved"')
    await dialog.getByRole('button', { name: 'Signal', exact: true, disabled: true }).waitFor()
    await dialog.getByRole('textbox').fill('{"approved": true}')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Signal', exact: true }).click()
    await stepRow(page, 'approve').getByText('Succeeded').waitFor()
    await stepRow(page, 'next').getByText('Running').waitFor()
    expect(complaints).toEqual([])
  })

  it('is paused and resumed', async () => {
    await using rig = await dagRig()
    const runId = await rig.start()
    await using browser = await openBrowser(`${rig.node.url}/dag-runs/${runId}`)
    const { page, complaints } = browser
    await stepRow(page, 'extract').getByText('Running').waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Paused', { exact: true }).waitFor()
    await rig.end('extract')
    await stepRow(page, 'transform').getByText('about to start').waitFor()
    expect(rig.running()).toEqual([])
    await page.getByRole('button', { name: 'Resume' }).click()
    await stepRow(page, 'transform').getByText('Running').waitFor()
    expect(complaints).toEqual([])
  })

  it('that failed is retried from the failed step, and succeeds', async () => {
    await using rig = await dagRig()
    const runId = await rig.start()
    await rig.end('extract')
    await rig.end('transform')
    await rig.end('load_search')
    await rig.fail('load')
    await rig.reach(runId, 'FAILED')
    await using browser = await openBrowser(rig.node.url)
    const { page, complaints } = browser
    await page.getByRole('link', { name: '1 DAG run failed in the last 24 hours.' }).click()
    await page.waitForURL('**/dags?state=FAILED&range=24h')
    await page.getByRole('table', { name: /Runs/ }).getByRole('link', { name: 'Nightly load' }).click()
    await stepRow(page, 'load').getByText('DiskFull no space left').waitFor()
    await stepRow(page, 'notify').getByText('Dependency failed').waitFor()
    await page.getByRole('button', { name: 'Retry from what failed: 2 steps…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Retry this run of Nightly load?' })
    await dialog.getByText(/2 steps run again.*3 steps that succeeded are kept/).waitFor()
    await dialog.getByRole('button', { name: 'Retry 2 steps' }).click()
    await stepRow(page, 'load').getByText('Running').waitFor()
    await expect.poll(() => rig.running()).toEqual(['load'])
    await rig.end('load')
    await rig.end('notify')
    await page.getByText('5 of 5 steps done').waitFor()
    await rig.reach(runId, 'SUCCEEDED')
    expect(complaints).toEqual([])
  })

  it('of 1,000 steps is drawn folded, and unfolds', async () => {
    await using rig = await dagRig()
    const target = { handler: 'nothing' }
    const files = Array.from({ length: 998 }, (_, at) => ({ name: `file_${at}`, target, dependsOn: ['list'] }))
    const steps = [
      { name: 'list', target },
      ...files,
      { name: 'merge', target, dependsOn: files.map(({ name }) => name) },
    ]
    const { runId } = await rig.client.dagRuns.start({ name: 'Files', steps })
    await using browser = await openBrowser(`${rig.node.url}/dag-runs/${runId}`)
    const { page, complaints } = browser
    await page.locator('.react-flow__node').nth(2).waitFor()
    await expect.poll(() => page.locator('.react-flow__node').count()).toBe(3)
    await page.getByText('998 × file_0…').click()
    await page.getByRole('button', { name: 'Fold again' }).click()
    await page.getByText('998 × file_0…').waitFor()
    await page.getByRole('button', { name: 'Show all 1,000' }).click()
    await page.getByRole('button', { name: 'file_997' }).waitFor()
    await expectNoSidewaysScroll(page)
    expect(complaints).toEqual([])
  })
})

describe('the list', () => {
  it('starts a run with a payload, and keeps its filters in the address', async () => {
    await using rig = await dagRig()
    await rig.client.dags.create(graph)
    await using browser = await openBrowser(`${rig.node.url}/dags`)
    const { page, complaints } = browser
    await page.getByRole('button', { name: 'Run Nightly load…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Run Nightly load' })
    await dialog.getByLabel('Payload of this run').fill('{"day": ')
    await dialog.getByText(/This is not JSON/).waitFor()
    await dialog.getByLabel('Payload of this run').fill('{"day": "2030-02-01"}')
    await dialog.getByRole('button', { name: 'Start run' }).click()
    // The address changes first. Until the view of the run is loaded, the dialog stays open, with the payload in it.
    await page.waitForURL('**/dag-runs/*')
    await page.getByRole('heading', { name: 'Nightly load', level: 1 }).waitFor()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('"2030-02-01"').waitFor()
    await pressInTurn(page, 'g', 'g')
    await page.waitForURL('**/dags')
    await page
      .getByRole('list', { name: /Latest runs of Nightly load/ })
      .getByRole('link')
      .waitFor()
    await page.getByLabel('DAG', { exact: true }).fill('nightly')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/dags?dagId=nightly')
    await page.getByLabel('State').selectOption('FAILED')
    await page.getByText('No run matches').waitFor()
    await page.reload()
    await expect.poll(() => page.getByLabel('DAG', { exact: true }).inputValue()).toBe('nightly')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByRole('button', { name: 'team: data' }).click()
    await page.waitForURL('**/dags?label=team%3Adata')
    await page.getByRole('table', { name: /Runs/ }).getByRole('link').waitFor()
    await page.getByRole('table', { name: /DAGs/ }).getByRole('link', { name: 'Nightly load', exact: true }).click()
    await page.waitForURL('**/dags/*')
    await page.getByRole('table', { name: 'Steps of the DAG' }).getByText('load, load_search').waitFor()
    expect(complaints).toEqual([])
  })
})

it('shows no action to one who may only read', async () => {
  await using rig = await dagRig({ auth: { jwtSecret: 'a secret of thirty-two characters, at least' } })
  const runId = await rig.start()
  await using browser = await openBrowser(`${rig.node.url}/dags`)
  const { page } = browser
  await signIn(page, await rig.key(['jobs:read']))
  await page.getByRole('table', { name: /DAGs/ }).getByText('Nightly load').waitFor()
  expect(await page.getByRole('button', { name: /Run/ }).count()).toBe(0)
  await page.goto(`${rig.node.url}/dag-runs/${runId}`)
  await stepRow(page, 'extract').waitFor()
  expect(await page.getByRole('button', { name: /Cancel|Pause|Retry/ }).count()).toBe(0)
})

it.each([
  [1_440, 'light'],
  [1_440, 'dark'],
  [375, 'light'],
  [375, 'dark'],
] as const)('%i pixels, %s: accessible, and nothing to scroll sideways', async (width, theme) => {
  await using rig = await dagRig()
  const runId = await rig.start()
  await rig.end('extract')
  await rig.end('transform')
  await rig.end('load_search')
  await rig.fail('load')
  await rig.reach(runId, 'FAILED')
  const { dagId } = (await rig.client.dags.get('nightly'))!
  await using browser = await openBrowser(rig.node.url, { width, theme })
  const { page, complaints } = browser
  const look = async (path: string, waitFor: string) => {
    await page.goto(rig.node.url + path)
    await page.getByText(waitFor).first().waitFor()
    if (width > 600 && path !== '/dags') await page.locator('.react-flow__node').first().waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
  }
  await look('/dags', 'Nightly load')
  await look(`/dags/${dagId}`, 'load_search')
  await look(`/dag-runs/${runId}`, 'no space left')
  await look(`/dag-runs/${runId}?step=load`, 'Open its execution')
  await page.getByRole('button', { name: /Retry from what failed/ }).click()
  await page.getByRole('dialog').waitFor()
  await expectAccessible(page)
  await expect.poll(() => page.locator('.react-flow').count()).toBe(width > 600 ? 1 : 0)
  expect(complaints).toEqual([])
})
