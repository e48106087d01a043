/** For long loops over the input of one caller: yields to the event loop whenever the loop has held it for `maxHoldMs`. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { monotonicMs } from './clock.ts'

const maxHoldMs = 10

/** Call the function between two steps, and await what it returns unless it is null. */
export function eventLoopYielder(): () => Promise<void> | null {
  let heldSince = monotonicMs()
  const yieldNow = async () => {
    await nextTurn()
    heldSince = monotonicMs()
  }
  return () => (monotonicMs() - heldSince < maxHoldMs ? null : yieldNow())
}
