/**
 * What a DST policy makes of a zone: the timeline cut into spans, each with the offsets under which a wall-clock match
 * counts. An instant t fires if t + offset matches for one of its span's offsets:
 *
 *   ordinary time                     the offset in force
 *   after a gap, under SHIFT          the offset in force, and the one before the jump: 02:30, which does not exist,
 *                                     is met under the old offset at what the clock now calls 03:30
 *   a pass of a repeated hour that    none
 *   the overlap policy leaves out
 *
 * Every instant is in one span, so fires strictly increase and none comes twice whatever the zone does: there is
 * nothing to sort and nothing to remove. The rule needs changes of the clock to lie farther apart than they are
 * large; `zone.test.ts` holds that against every zone and year.
 */
import type { DstPolicy } from '@carillon/contract'
import type { Segment, Zone } from './zone.ts'

export interface Span {
  /** First instant. */
  readonly from: number
  /** First instant after it. */
  readonly to: number
  readonly offsets: readonly number[]
}

/** Offsets lie within 16 hours of UTC; a wall clock belongs to an instant no farther from it than this. */
export const farthestOffsetMs = 16 * 3_600_000

const spansBySegment = new WeakMap<Segment, Map<string, readonly Span[]>>()

/** The spans of a segment, in order. Without a policy (schedules that follow elapsed time) it is one. */
export function spansOf(segment: Segment, policy: DstPolicy | null): readonly Span[] {
  let byPolicy = spansBySegment.get(segment)
  if (byPolicy === undefined) {
    byPolicy = new Map()
    spansBySegment.set(segment, byPolicy)
  }
  const key = policy === null ? 'ELAPSED' : `${policy.gap}${policy.overlap}`
  let spans = byPolicy.get(key)
  if (spans === undefined) {
    spans =
      policy === null ? [{ from: segment.start, to: segment.end, offsets: [segment.offset] }] : cut(segment, policy)
    byPolicy.set(key, spans)
  }
  return spans
}

function cut({ start, end, offset, before, after }: Segment, policy: DstPolicy): Span[] {
  const headEnd = Math.min(end, start === -Infinity ? start : start + Math.abs(offset - before))
  const tailStart = Math.max(headEnd, end === Infinity ? end : end - Math.max(0, offset - after))
  const shifted = policy.gap === 'SHIFT' ? [offset, before] : [offset]
  const secondPass = policy.overlap === 'FIRST' ? [] : [offset]
  const firstPass = policy.overlap === 'SECOND' ? [] : [offset]
  const spans: Span[] = [
    { from: start, to: headEnd, offsets: offset > before ? shifted : secondPass },
    { from: headEnd, to: tailStart, offsets: [offset] },
    { from: tailStart, to: end, offsets: firstPass },
  ]
  return spans.filter(({ from, to }) => from < to)
}

/** The instants at which a policy lets one wall-clock time happen: none, one, or (BOTH) two, ascending. */
export function instantsOf(zone: Zone, wall: number, policy: DstPolicy): number[] {
  const likely = zone.segmentAt(wall)
  const only = wall - likely.offset
  if (only > likely.start + 2 * farthestOffsetMs && only < likely.end - 2 * farthestOffsetMs) return [only]
  const instants: number[] = []
  let instant = wall - farthestOffsetMs
  while (instant <= wall + farthestOffsetMs) {
    const segment = zone.segmentAt(instant)
    for (const { from, to, offsets } of spansOf(segment, policy)) {
      for (const offset of offsets) {
        const candidate = wall - offset
        if (candidate >= from && candidate < to && !instants.includes(candidate)) instants.push(candidate)
      }
    }
    instant = segment.end
  }
  return instants
}
