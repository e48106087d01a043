/** For long loops over what one caller sent: after so long the rest of the node has its turn. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { monotonicMs } from './clock.ts'

const inOneGoMs = 10

/** A function to be asked between two steps, and awaited if it gives something to wait for. */
export function breather(): () => Promise<void> | null {
  let since = monotonicMs()
  const pause = async () => {
    await nextTurn()
    since = monotonicMs()
  }
  return () => (monotonicMs() - since < inOneGoMs ? null : pause())
}
