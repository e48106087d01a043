/**
 * Shutdown of a long-running command. SIGINT and SIGTERM stop it gracefully; a second signal after a second or more ends it at
 * once. An earlier one counts as the same: npm forwards a Ctrl-C that the terminal has sent to
 * the whole process group already.
 */
import { exitCodes } from './failure.ts'
import type { Output } from './output.ts'

const sameWishMs = 1_000

export interface Shutdown {
  /** Resolves at the first signal. */
  readonly asked: Promise<NodeJS.Signals>
  readonly signal: AbortSignal
}

export function onShutdown(out: Output): Shutdown {
  const controller = new AbortController()
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let firstAt: number | null = null
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (firstAt === null) {
        firstAt = performance.now()
        out.note(name === 'SIGINT' ? '\nStopping …' : 'Stopping …')
        controller.abort()
        resolve(name)
      } else if (performance.now() - firstAt > sameWishMs) {
        out.note('Stopping at once')
        process.exit(exitCodes.INTERRUPTED)
      }
    })
  }
  return { asked: promise, signal: controller.signal }
}
