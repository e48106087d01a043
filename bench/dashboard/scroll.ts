/**
 * How smoothly the list of jobs scrolls in a real page: a wheel is turned for some seconds, and the page counts the time between two
 * frames. First from the top, while the list asks for one page after the other; then in the middle of a list of which every row has
 * been loaded. Chromium draws without a GPU, beside the node and PostgreSQL.
 */
import { setTimeout as after } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { Installation } from '../ground/ground.ts'
import { quantiles } from '../measure/quantiles.ts'
import { type Bench, judged, type Result } from '../scenario.ts'
import { openPage } from './page.ts'

const targetMs = 50
/** A turn of the wheel, in pixels, and how many there are in a second: about five screens a second. */
const turnPx = 240
const turnsPerSec = 20
const loadWithinMs = 600_000

export async function measureScroll(bench: Bench, installation: Installation, tenant: string): Promise<Result[]> {
  await using opened = await openPage(bench, installation, { tenant, path: '/jobs' })
  const { page, browser } = opened
  await page.locator('tbody tr[data-index="20"]').waitFor({ state: 'attached' })
  await page.mouse.move(720, 450)
  const seconds = bench.size(10, 3)
  const results: Result[] = []
  for (const [name, prepare] of [
    ['while it loads', async () => {}],
    ['all loaded', () => loadAll(bench, page)],
  ] as const) {
    await prepare()
    const scrolled = await scroll(page, seconds)
    const [p50, p95] = quantiles(scrolled.frames, [0.5, 0.95]) as [number, number]
    const rows = await rowsIn(page)
    bench.progress(`scrolling ${name}, ${rows} rows: p95 of a frame ${p95.toFixed(1)} ms`)
    results.push(
      judged({
        ...{ name: `dashboard scroll ${name}`, unit: 'ms a frame (p95)', target: targetMs, better: 'lower' },
        value: Math.round(p95 * 10) / 10,
        detail: {
          ...{ 'p50 ms': Math.round(p50 * 10) / 10, 'longest ms': Math.round(Math.max(...scrolled.frames)) },
          'frames over 50 ms': scrolled.frames.filter((ms) => ms > targetMs).length,
          'long tasks': scrolled.longTasks,
          ...{ frames: scrolled.frames.length, seconds, rows, 'pixels scrolled': scrolled.px, browser },
        },
      }),
    )
  }
  return results
}

interface Scrolled {
  /** Ms between two frames. */
  frames: number[]
  /** Over 50 ms, by PerformanceObserver. */
  longTasks: number
  px: number
}

async function scroll(page: Page, seconds: number): Promise<Scrolled> {
  await page.evaluate(watchFrames)
  for (let turn = 0; turn < seconds * turnsPerSec; turn++) {
    await Promise.all([page.mouse.wheel(0, turnPx), after(1_000 / turnsPerSec)])
  }
  return page.evaluate(() => (globalThis as unknown as { scrolled(): Scrolled }).scrolled())
}

/** In the page: from now on, until `scrolled` is called. */
function watchFrames(): void {
  const here = globalThis as unknown as {
    requestAnimationFrame(then: (at: number) => void): void
    scrollY: number
    scrolled(): Scrolled
  }
  const frames: number[] = []
  const from = here.scrollY
  let last: number | null = null
  let isOver = false
  let longTasks = 0
  const observer = new PerformanceObserver((list) => {
    longTasks += list.getEntries().length
  })
  observer.observe({ entryTypes: ['longtask' as 'function'] })
  const frame = (at: number) => {
    if (last !== null) frames.push(at - last)
    last = at
    if (!isOver) here.requestAnimationFrame(frame)
  }
  here.requestAnimationFrame(frame)
  here.scrolled = () => {
    isOver = true
    observer.disconnect()
    return { frames, longTasks, px: here.scrollY - from }
  }
}

/** Goes to the end until nothing more follows, then to the middle. */
async function loadAll(bench: Bench, page: Page): Promise<void> {
  bench.progress('loading the whole list')
  await page.evaluate(async (withinMs) => {
    const { window, document } = globalThis as unknown as {
      window: { scrollTo(x: number, y: number): void }
      document: {
        documentElement: { scrollHeight: number }
        querySelector(selector: string): { getAttribute(name: string): string | null } | null
      }
    }
    const until = performance.now() + withinMs
    // The table knows how many rows there are once the last page is here.
    while (document.querySelector('table')?.getAttribute('aria-rowcount') === '-1') {
      if (performance.now() > until) throw new Error('the list was not loaded in time')
      window.scrollTo(0, document.documentElement.scrollHeight)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    window.scrollTo(0, document.documentElement.scrollHeight / 2)
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  }, loadWithinMs)
}

/** That the list knows of, whether or not they are in the page. */
async function rowsIn(page: Page): Promise<number> {
  const text = await page.getByRole('status').filter({ hasText: /\d/ }).last().innerText()
  return Number(/[\d,]+/.exec(text)?.[0].replaceAll(',', '') ?? Number.NaN)
}
