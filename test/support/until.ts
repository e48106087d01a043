import { poll } from '../../packages/embedded/src/waiting.ts'

/** Waits until a condition holds; fails after a generous time. */
export async function until(condition: () => boolean | Promise<boolean>, forMs = 15_000): Promise<void> {
  const held = await poll(async () => ((await condition()) ? true : undefined), { everyMs: 20, forMs })
  if (!held) throw new Error(`it did not come to that within ${forMs} ms`)
}
