/** All edges as a few paths, whatever their number: an element for each of 20,000 would be too many. */
import { memo } from 'react'
import type { Layout, Point } from './layout.ts'

type Kind = 'open' | 'done' | 'chosen' | 'critical'

/** In the order in which they are drawn. */
const kinds: Record<Kind, { line: string; head: string }> = {
  open: { line: 'stroke-soft/50 [stroke-dasharray:5_4]', head: 'fill-soft/50' },
  done: { line: 'stroke-soft/80', head: 'fill-soft' },
  chosen: { line: 'stroke-ink [stroke-width:2.5px]', head: 'fill-ink' },
  critical: { line: 'stroke-accent [stroke-width:4px]', head: 'fill-accent' },
}
const head = { length: 7, half: 4 }

export const GraphEdges = memo(function GraphEdges({
  layout: { edges, width, height },
  hasEnded,
  critical,
  selected,
}: {
  layout: Layout
  /** By node: all its steps have ended. */
  hasEnded: ReadonlySet<string>
  /** Node ids, first to last. */
  critical: readonly string[]
  /** The node whose edges stand out. */
  selected: string | undefined
}) {
  const place = new Map(critical.map((id, at) => [id, at]))
  const kindOf = (from: string, to: string): Kind => {
    if (place.has(from) && place.get(to) === place.get(from)! + 1) return 'critical'
    if (from === selected || to === selected) return 'chosen'
    return hasEnded.has(from) ? 'done' : 'open'
  }
  const byKind = Map.groupBy(edges, ({ from, to }) => kindOf(from, to))
  return (
    <svg
      width={width}
      height={height}
      className="pointer-events-none absolute top-0 left-0 -z-1 overflow-visible"
      aria-hidden="true"
    >
      {Object.entries(kinds).map(([kind, { line, head }]) => {
        const drawn = byKind.get(kind as Kind)
        if (!drawn) return null
        const ends = new Set(drawn.map(({ points }) => headOf(points.at(-1)!)))
        return (
          <g key={kind}>
            <path
              d={[...new Set(drawn.flatMap(({ points }) => pathsOf(points)))].join('')}
              fill="none"
              strokeWidth="1.500"
              className={line}
            />
            <path d={[...ends].join('')} className={head} />
          </g>
        )
      })}
    </svg>
  )
})

/** A curve between layers, a straight line behind one. */
function pathsOf(points: readonly Point[]): string[] {
  return points.slice(1).map((to, at) => {
    const from = points[at]!
    const isLast = at === points.length - 2
    const x = isLast ? to.x - head.length : to.x
    if (at % 2 === 1) return `M${from.x} ${from.y}L${x} ${to.y}`
    const middle = (from.x + x) / 2
    return `M${from.x} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${x} ${to.y}`
  })
}

function headOf({ x, y }: Point): string {
  return `M${x} ${y}l${-head.length} ${-head.half}v${2 * head.half}z`
}
