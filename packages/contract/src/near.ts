/** The name that was probably meant: the same letters in another spelling, the beginning of a longer name, or a slip. */
export function nearest(name: string, known: readonly string[]): string | null {
  const wanted = plain(name)
  if (wanted === '' || name.length > 60) return null
  const same = known.find((other) => plain(other) === wanted)
  if (same !== undefined) return same
  // `timeout` for `timeoutSec`, `heartbeatTimeout` for `heartbeatTimeoutSec`: a forgotten unit.
  const unit = known.find(
    (other) => plain(other).startsWith(wanted) && /^(ms|sec|days|mb)$/.test(plain(other).slice(wanted.length)),
  )
  if (unit !== undefined) return unit
  const allowed = wanted.length <= 4 ? 1 : 2
  let best: { other: string; away: number } | null = null
  for (const other of known) {
    if (Math.abs(other.length - name.length) > allowed) continue
    const away = distance(plain(other), wanted)
    if (away <= allowed && away < wanted.length / 2 && (best === null || away < best.away)) best = { other, away }
  }
  return best?.other ?? null
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '')
}

/** Levenshtein's distance. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}
