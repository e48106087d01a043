/**
 * Everything by which code learns the time, waits, or draws lots is replaced for a run: timers, clocks, random numbers.
 * What is created before and after keeps the real ones; nothing of the machine's time reaches the world.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import { newId } from '../../packages/server/src/domain/identity.ts'
import type { Random } from './random.ts'
import { VirtualTimer, virtualTimers } from './timers.ts'
import type { World } from './world.ts'

type Place = Record<string, unknown>

/** Answers how to put everything back. */
export function replaceGlobals(world: World, random: Random): () => void {
  const timers = virtualTimers(world)
  let drawn = false
  const undo = [
    replace(globalThis, {
      setTimeout: timers.setTimeout,
      setInterval: timers.setInterval,
      setImmediate: timers.setImmediate,
      clearTimeout: clearing(clearTimeout),
      clearInterval: clearing(clearInterval),
      clearImmediate: clearing(clearImmediate),
    }),
    replace(timersPromises, timers.promises),
    replace(performance, { now: () => world.timeOf(world.owner), timeOrigin: 0 }),
    replace(Date, { now: () => Math.floor(world.wallTimeOf(world.owner)) }),
    replace(Math, { random: () => random.next() }),
    replace(crypto, {
      randomUUID: () => random.uuid(),
      randomBytes: (count: number) => {
        drawn = true
        return random.bytes(count)
      },
    }),
  ]
  syncBuiltinESMExports()
  // Ids are drawn from a pool of random bytes: what the run before left of it is used up.
  while (!drawn) newId(0)
  return () => {
    for (const back of undo) back()
    syncBuiltinESMExports()
  }
}

function replace(place: object, by: Place): () => void {
  const before = Object.keys(by).map((key) => [key, Object.getOwnPropertyDescriptor(place, key)] as const)
  for (const [key, value] of Object.entries(by)) {
    Object.defineProperty(place, key, { value, writable: true, configurable: true, enumerable: true })
  }
  return () => {
    for (const [key, descriptor] of before) {
      if (descriptor) Object.defineProperty(place, key, descriptor)
      else delete (place as Place)[key]
    }
  }
}

/** Timers from before the run are cleared by the real function. */
function clearing(real: (timer: never) => void) {
  return (timer: unknown) => {
    if (timer instanceof VirtualTimer) timer.clear()
    else real(timer as never)
  }
}
