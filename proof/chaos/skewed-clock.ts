/**
 * Loaded before a node: lets its clocks be wrong by as much as its parent says. The wall clock may jump either way; the
 * monotonic one only forward, as after a machine was suspended. Timers go on as they are.
 */
export interface Skew {
  wallMs: number
  /** Added to what was there before. */
  monotonicMs: number
}

let wallMs = 0
let monotonicMs = 0
const wall = Date.now.bind(Date)
const monotonic = performance.now.bind(performance)
Date.now = () => wall() + wallMs
performance.now = () => monotonic() + monotonicMs

process.on('message', (word: { skew?: Skew }) => {
  if (!word.skew) return
  wallMs = word.skew.wallMs
  monotonicMs += Math.max(0, word.skew.monotonicMs)
})
