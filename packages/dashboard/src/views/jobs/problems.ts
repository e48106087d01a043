/** What the node says is wrong, by JSON pointer, so that it stands at its field. */
import type { Refusal } from '../../lib/api.ts'

export type Problems = ReadonlyMap<string, string>

export function problemsOf({ problem, message }: Refusal): Problems {
  const found = new Map<string, string>()
  for (const { pointer = '', message: text, hint } of problem.errors ?? []) {
    const whole = hint === undefined ? text : `${text}. ${hint}`
    found.set(pointer, found.has(pointer) ? `${found.get(pointer)} ${whole}` : whole)
  }
  if (found.size === 0) found.set('', message)
  return found
}
