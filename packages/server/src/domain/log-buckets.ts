/**
 * How long things took, counted in buckets each a fifth wider than the one before: from 0.1 ms to a day in 115 of them. Buckets of
 * several nodes, handlers and hours are added up, and a quantile of the sum is right to about 10 %, which no mean of quantiles is.
 */
const leastMs = 0.1
const growth = 1.2
const logGrowth = Math.log(growth)
/** The first is for what is shorter than `leastMs`, the last for what is longer than a day. */
export const bucketCount = 2 + Math.ceil(Math.log(86_400_000 / leastMs) / logGrowth)

export function bucketOf(ms: number): number {
  if (!(ms >= leastMs)) return 0
  return Math.min(bucketCount - 1, 1 + Math.floor(Math.log(ms / leastMs) / logGrowth))
}

/** The middle of a bucket, by ratio. */
function middleOf(bucket: number): number {
  return bucket === 0 ? leastMs / 2 : leastMs * growth ** (bucket - 0.5)
}

/** What each of these shares, 0 to 1 and ascending, does not exceed. `counts`: by bucket, `total` in all. */
export function quantilesOf(counts: ArrayLike<number>, total: number, shares: readonly number[]): number[] {
  const quantiles: number[] = []
  let seen = 0
  for (let bucket = 0; bucket < counts.length && quantiles.length < shares.length; bucket++) {
    if (counts[bucket] === 0) continue
    seen += counts[bucket]!
    while (quantiles.length < shares.length && seen >= Math.max(1, Math.ceil(total * shares[quantiles.length]!))) {
      quantiles.push(middleOf(bucket))
    }
  }
  while (quantiles.length < shares.length) quantiles.push(middleOf(counts.length - 1))
  return quantiles
}
