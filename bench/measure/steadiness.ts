/**
 * How fast the machine itself was at the beginning and at the end, and how much of its time another one took. Where these
 * differ much, figures of different runs cannot be compared.
 */
import { readFile } from 'node:fs/promises'

export interface Steadiness {
  /** What the same loop took before and after, in ms. */
  loopMs: [number, number]
  /** Of the time that virtual processors wanted to run, what they were kept from, in percent. */
  stolenPercent: number
}

/** To be asked at the end. */
export async function watchMachine(): Promise<() => Promise<Steadiness>> {
  const before = { loopMs: loop(), times: await times() }
  return async () => {
    const { stolen, wanted } = await times()
    const share = (stolen - before.times.stolen) / Math.max(1, wanted - before.times.wanted)
    return { loopMs: [before.loopMs, loop()], stolenPercent: Math.round(1_000 * share) / 10 }
  }
}

/** The same arithmetic each time; the median of five. */
function loop(): number {
  const took = Array.from({ length: 5 }, () => {
    const began = performance.now()
    let x = 1
    for (let i = 0; i < 20_000_000; i++) x = (Math.imul(x, 1_664_525) + 1_013_904_223) | 0
    return x === 0 ? 0 : performance.now() - began
  })
  return Math.round(10 * took.sort((a, b) => a - b)[2]!) / 10
}

async function times(): Promise<{ stolen: number; wanted: number }> {
  const text = await readFile('/proc/stat', 'utf8')
  const [user, nice, system, , , interrupts, softInterrupts, stolen] = text
    .split('\n')[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return { stolen: stolen!, wanted: user! + nice! + system! + interrupts! + softInterrupts! + stolen! }
}
