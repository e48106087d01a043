/** Fewer steps that still lead to a difference: for people to read. */
import type { Rig } from './rig.ts'
import { type Outcome, repeat } from './run.ts'

/** Leaves out ever smaller pieces, as long as time allows. What is found is the same kind of failure, not always the same. */
export async function shrink(
  rig: Rig,
  failed: Outcome,
  { withinMs, now }: { withinMs: number; now: () => number },
): Promise<Outcome> {
  const until = now() + withinMs
  let best = failed
  for (let size = Math.ceil(best.steps.length / 2); size >= 1 && now() < until; ) {
    let found = false
    for (let at = best.steps.length - size; at > -size && now() < until; at -= size) {
      const from = Math.max(0, at)
      const steps = [...best.steps.slice(0, from), ...best.steps.slice(at + size)]
      const shorter = await repeat(rig, { seed: best.seed, steps })
      if (shorter.difference === null || shorter.steps.length >= best.steps.length) continue
      best = shorter
      found = true
      at = Math.min(at, best.steps.length)
    }
    if (!found && size === 1) break
    size = found ? Math.min(size, best.steps.length) : Math.floor(size / 2)
  }
  return best
}

const mostLines = 60

export function storyOf({ seed, steps, difference }: Outcome): string {
  const lines = steps.map(({ operation, seed }, i) => `${String(i + 1).padStart(5)}  ${operation} (${seed})`)
  const shown = lines.length > mostLines ? ['  …', ...lines.slice(-mostLines)] : lines
  return [`seed ${seed}, ${steps.length} steps:`, ...shown, difference?.message ?? 'no difference'].join('\n')
}
