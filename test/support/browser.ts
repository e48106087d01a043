/** A browser that a test looks through: pages of a node's dashboard, what axe says of them, whether they fit a phone. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { chromiumOptions } from '../../scripts/chromium.ts'
import { waitMs } from './wait-ms.ts'

export interface BrowserOptions {
  theme?: 'light' | 'dark'
  /** 1440 unless given. */
  width?: number
}

export interface TestBrowser {
  page: Page
  /** What the pages complained about: errors of scripts, of the policy, of requests that were refused. */
  complaints: string[]
  [Symbol.asyncDispose](): Promise<void>
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** With a profile of its own; `page` is at `url`. */
export async function openBrowser(url: string, options: BrowserOptions = {}): Promise<TestBrowser> {
  const { theme = 'light', width = 1_440 } = options
  const profile = await mkdtemp(join(tmpdir(), 'carillon-chromium-'))
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    ...chromiumOptions,
    viewport: { width, height: width < 600 ? 812 : 900 },
    colorScheme: theme,
    reducedMotion: 'reduce',
  })
  const complaints: string[] = []
  const page = context.pages()[0] ?? (await context.newPage())
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.setDefaultTimeout(waitMs)
  await page.goto(url)
  return {
    page,
    complaints,
    async [Symbol.asyncDispose]() {
      await context.close()
      // Processes of Chromium may still write to it when the main one has ended.
      await rm(profile, { recursive: true, force: true, maxRetries: 20 })
    },
  }
}

/**
 * Presses keys that belong together, such as `g` and a letter. All are sent before the first is answered: on a slow machine, waiting for
 * each would take longer than the page allows between them.
 */
export async function pressInTurn(page: Page, ...keys: readonly string[]): Promise<void> {
  await Promise.all(keys.flatMap((key) => [page.keyboard.down(key), page.keyboard.up(key)]))
}

/** Fails with what axe finds that is serious or critical. */
export async function expectAccessible(page: Page): Promise<void> {
  // Not as a script element: the policy of the page would refuse it, as it should.
  await page.evaluate(await readFile(axe, 'utf8'))
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } }
    const { violations } = await axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`)
  })
  expect(found).toEqual([])
}

interface AxeViolation {
  id: string
  impact: string
  help: string
  nodes: { html: string }[]
}

/** Polled: what is drawn by a script gets its width after it is in the page. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const hiddenPx = () =>
    page.evaluate(() => {
      const { document } = globalThis as unknown as { document: { documentElement: Record<string, number> } }
      const { scrollWidth, clientWidth } = document.documentElement
      return scrollWidth! - clientWidth!
    })
  await expect.poll(hiddenPx, { timeout: 10_000 }).toBeLessThanOrEqual(0)
}
