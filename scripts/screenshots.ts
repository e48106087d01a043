/**
 * Takes a picture of every view of the dashboard, light and dark, wide and narrow:
 * `node scripts/screenshots.ts http://127.0.0.1:7171 <folder> [view …]`. Needs Debian's Chromium.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { chromiumOptions } from './chromium.ts'

const [url = 'http://127.0.0.1:7171', folder = 'screenshots', ...only] = process.argv.slice(2)
const widths = { wide: { width: 1440, height: 900 }, phone: { width: 375, height: 812 } }
const views: Record<string, string> = {
  now: '/',
  ahead: '/ahead',
  jobs: '/jobs',
  'job-new': '/jobs/new',
  executions: '/executions',
  dags: '/dags',
  'dead-letters': '/dead-letters',
  workers: '/workers',
  proof: '/proof',
  tenants: '/tenants',
  tenant: '/tenants/acme',
  audit: '/audit',
  tokens: '/tokens',
}

mkdirSync(folder, { recursive: true })
const profile = mkdtempSync(join(tmpdir(), 'carillon-chromium-'))
const firstOf = async (list: string) => {
  const response = await fetch(`${url}/v1/${list}?limit=1`)
  return ((await response.json()) as { items: Record<string, string>[] }).items[0]
}
const [job, execution] = [await firstOf('jobs'), await firstOf('executions')]
const [dag, run] = [await firstOf('dags'), await firstOf('dag-runs')]
if (job) Object.assign(views, { job: `/jobs/${job.jobId}`, 'job-edit': `/jobs/${job.jobId}/edit` })
if (dag) views.dag = `/dags/${dag.dagId}`
if (run) views['dag-run'] = `/dag-runs/${run.runId}`
if (execution) views.execution = `/executions/${execution.executionId}`

for (const [size, viewport] of Object.entries(widths)) {
  for (const theme of ['light', 'dark'] as const) {
    const context = await chromium.launchPersistentContext(profile, {
      ...chromiumOptions,
      viewport,
      colorScheme: theme,
    })
    const page = await context.newPage()
    page.on('console', (message) => message.type() === 'error' && console.error(theme, page.url(), message.text()))
    for (const [name, path] of Object.entries(views)) {
      if (only.length > 0 && !only.includes(name)) continue
      await page.goto(url + path, { waitUntil: 'load' })
      await page.locator('h1').first().waitFor()
      await page.waitForTimeout(800)
      await page.screenshot({ path: join(folder, `${name}-${size}-${theme}.png`), fullPage: size === 'phone' })
    }
    await context.close()
  }
}
rmSync(profile, { recursive: true, force: true })
