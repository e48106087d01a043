/** For long loops over what one caller sent: after so long the rest of the node has its turn. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { monotonicMs } from './clock.ts'

const inOneGoMs = 10

/** A function to be awaited between two steps. */
export function breather(): () => Promise<void> {
  let since = monotonicMs()
  return async () => {
    if (monotonicMs() - since < inOneGoMs) return
    await nextTurn()
    since = monotonicMs()
  }
}
