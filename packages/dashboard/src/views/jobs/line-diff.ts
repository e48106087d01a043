/** What changed between two texts, line by line: the longest run of lines they share stays. */
export interface Line {
  sign: '+' | '-' | ' '
  text: string
}

/** Above this the table of comparisons is too large to make: then everything in between is one change. */
const largestTable = 4_000_000

export function lineDiff(before: string, after: string): Line[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const kept = (lines: string[]): Line[] => lines.map((text) => ({ sign: ' ', text }))
  return [
    ...kept(a.slice(0, start)),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...kept(end === 0 ? [] : a.slice(-end)),
  ]
}

function middle(a: string[], b: string[]): Line[] {
  if (a.length * b.length > largestTable) {
    return [...a.map((text): Line => ({ sign: '-', text })), ...b.map((text): Line => ({ sign: '+', text }))]
  }
  // shared[i][j]: how many lines a from i and b from j have in common.
  const shared = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1))
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      shared[i]![j] = a[i] === b[j] ? shared[i + 1]![j + 1]! + 1 : Math.max(shared[i + 1]![j]!, shared[i]![j + 1]!)
    }
  }
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i++]! })
      j++
    } else if (j === b.length || (i < a.length && shared[i + 1]![j]! >= shared[i]![j + 1]!)) {
      lines.push({ sign: '-', text: a[i++]! })
    } else {
      lines.push({ sign: '+', text: b[j++]! })
    }
  }
  return lines
}

export interface Hunk {
  /** Lines left out before it. */
  skipped: number
  lines: Line[]
}

/** Only what is near a change. */
export function hunksOf(lines: readonly Line[], context = 2): Hunk[] {
  const isNear = (at: number) =>
    lines.slice(Math.max(0, at - context), at + context + 1).some(({ sign }) => sign !== ' ')
  const hunks: Hunk[] = []
  let skipped = 0
  let open = false
  lines.forEach((line, at) => {
    if (!isNear(at)) {
      skipped++
      open = false
      return
    }
    if (!open) hunks.push({ skipped, lines: [] })
    hunks.at(-1)!.lines.push(line)
    open = true
    skipped = 0
  })
  return hunks
}
