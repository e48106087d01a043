/** `from` and `to` of a list, in milliseconds. The format lets through what is no instant, such as a leap second. */
import { Problems } from '../jobs/validate.ts'

export function timeRangeOf(query: { from?: string; to?: string }): { from: number | null; to: number | null } {
  const problems = new Problems()
  const from = problems.instant('/from', query.from)
  const to = problems.instant('/to', query.to)
  if (from !== null && to !== null && from >= to) problems.add('/to', '`to` must be after `from`')
  problems.throwIfAny()
  return { from, to }
}
