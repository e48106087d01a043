/** The smallest value that at least the share `q` of all values do not exceed; NaN of none. */
export function quantile(values: readonly number[], q: number): number {
  return quantiles(values, [q])[0]!
}

/** Several at once, sorted once. */
export function quantiles(values: readonly number[], qs: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort()
  return qs.map((q) => sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN)
}
