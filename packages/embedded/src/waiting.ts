import { setTimeout as sleep } from 'node:timers/promises'

export function pause(ms: number): Promise<void> {
  return sleep(ms)
}

/** Asks again and again until there is an answer; undefined when there was none in time. */
export async function poll<T>(
  ask: () => Promise<T | undefined>,
  { everyMs, forMs }: { everyMs: number; forMs: number },
): Promise<T | undefined> {
  const deadline = performance.now() + forMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() >= deadline) return undefined
    await pause(everyMs)
  }
}
