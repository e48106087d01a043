/** A page of the dashboard in Chromium, signed in for a tenant. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { chromiumOptions } from '../../scripts/chromium.ts'
import type { Installation } from '../ground/ground.ts'
import type { Bench } from '../scenario.ts'

export interface OpenedPage extends AsyncDisposable {
  page: Page
  /** For a result's detail. */
  browser: string
}

/** At `path`, which has not been waited for. */
export async function openPage(
  bench: Bench,
  installation: Installation,
  { tenant, path }: { tenant: string; path: string },
): Promise<OpenedPage> {
  const profile = await mkdtemp(join(bench.ground.folder, 'chromium-'))
  const context = await chromium.launchPersistentContext(profile, {
    ...chromiumOptions,
    viewport: { width: 1_440, height: 900 },
  })
  // As sign-in and the choice of a tenant leave it.
  await context.addInitScript(
    ([token, tenant]) => {
      const { sessionStorage } = globalThis as unknown as {
        sessionStorage: { setItem(key: string, text: string): void }
      }
      sessionStorage.setItem('carillon.token', token!)
      sessionStorage.setItem('carillon.tenant', tenant!)
    },
    [installation.adminToken, tenant],
  )
  const page = context.pages()[0] ?? (await context.newPage())
  page.setDefaultTimeout(30_000)
  await page.goto(installation.urls[0] + path)
  return {
    page,
    browser: `Chromium ${context.browser()?.version() ?? ''}`.trim(),
    async [Symbol.asyncDispose]() {
      await context.close()
      await rm(profile, { recursive: true, force: true })
    },
  }
}
