/**
 * What an open page asks, recorded and asked again at the same pace, over and over, while it is told `true`; while it is told `false`, nothing.
 * Instants in an address move on by whole minutes, as they do in the page.
 */
import type { Load } from '../ground/ground.ts'

/** One GET, `atMs` after the recording began. */
export interface Asked {
  atMs: number
  path: string
}

export interface PageRequestsOptions {
  url: string
  headers: Record<string, string>
  asked: Asked[]
  /** How long was recorded. */
  everyMs: number
  /** When the recording began, ms since 1970. */
  recordedAt: number
}

export interface PageRequestsAnswer {
  requests: number
}

const minuteMs = 60_000

const pageRequests: Load<PageRequestsOptions, PageRequestsAnswer> = async (options, { signal, ready, say, onTold }) => {
  const { url, headers, asked, everyMs, recordedAt } = options
  const { promise: failed, reject: fail } = Promise.withResolvers<never>()
  let requests = 0
  let timers: NodeJS.Timeout[] = []

  const ask = async (path: string) => {
    const response = await fetch(url + moved(path, Date.now() - recordedAt), { headers })
    const text = await response.text()
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${text}`)
    say(++requests)
  }
  const open = () => {
    timers = asked.map(({ atMs, path }) => setTimeout(() => void ask(path).catch(fail), atMs))
    timers.push(setTimeout(open, everyMs))
  }
  const close = () => {
    for (const timer of timers) clearTimeout(timer)
    timers = []
  }
  onTold((isOpen) => {
    close()
    if (isOpen) open()
  })
  await ready()
  try {
    await Promise.race([failed, new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))])
    return { requests }
  } finally {
    close()
  }
}

export default pageRequests

function moved(path: string, byMs: number): string {
  const whole = Math.floor(byMs / minuteMs) * minuteMs
  return path.replace(/\d{4}-\d\d-\d\dT\d\d(:|%3A)\d\d(:|%3A)\d\d\.\d+Z/g, (instant) =>
    encodeURIComponent(new Date(Date.parse(decodeURIComponent(instant)) + whole).toISOString()),
  )
}
