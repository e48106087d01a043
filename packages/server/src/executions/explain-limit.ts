/** Why does it not run? What concerns limits. */
import type { Placement } from '../store/executions/read-placement.ts'
import type { Reason } from './explain-run.ts'
import { listed, timeText } from './explain-words.ts'

export function explainLimit(limit: NonNullable<Placement['limit']>, now: number): Reason {
  const { name, what, concurrency, taken, rate, nextAt, holders, ahead } = limit
  if (name === null)
    return {
      code: 'READY',
      message: 'its limit was deleted, and it is about to become ready',
      hint: 'ask again in a moment',
    }
  const called = what === '' || what === name ? `the limit ${name}` : `the limit ${name} for ${what}`
  const before = ahead > 0 ? `; ${ahead >= 10_000 ? '10000 or more' : ahead} of its tenant wait before it` : ''
  if (concurrency !== null && taken >= concurrency) {
    const held = holders.map(({ executionId, worker }) =>
      worker === null ? executionId : `${executionId} on ${worker}`,
    )
    const others = taken - holders.length
    const who =
      held.length === 0 ? 'others hold them' : `held by ${listed(held)}${others > 0 ? ` and ${others} more` : ''}`
    const slots =
      concurrency === 0 ? 'lets nothing start' : `has no slot left: ${taken} of ${concurrency} are taken, ${who}`
    return {
      code: 'LIMIT',
      message: `${called} ${slots}${before}`,
      hint: `wait for one of those to end, or raise it with PUT /v1/limits/${name}`,
    }
  }
  if (rate !== null && nextAt !== null && nextAt > now) {
    const message = `${called} allows ${rate.count} in ${rate.perSec} s, the next at ${timeText(nextAt)}${before}`
    return { code: 'RATE', message, hint: `wait, or raise it with PUT /v1/limits/${name}` }
  }
  return {
    code: 'READY',
    message: `${called} has room, and it is about to become ready`,
    hint: 'ask again in a moment',
  }
}
