/** Two clocks that all processes of one machine share. */

/** For durations between processes: the machine's monotonic clock, ms with fractions. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** For comparison with times of the ledger: PostgreSQL on this machine reads the same clock. Whole ms. */
export function wallMs(): number {
  return Date.now()
}
