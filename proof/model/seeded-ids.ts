/**
 * Ids from a seed, so that a run can be repeated to the letter: which shard a job belongs to, which of two ids of the same
 * millisecond is the smaller, how much jitter a job has. Carillon draws random bytes for ids some thousand at a time;
 * those come from here, all others from where they always come from.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { newId } from '../../packages/server/src/domain/identity.ts'
import { Random } from './random.ts'

const poolBytes = 4_096

/** Until it is disposed of. */
export function seedIds(seed: number): Disposable {
  const original = crypto.randomBytes
  const random = new Random(seed)
  let drawn = 0
  const seeded = (size: number, ...rest: []) => {
    if (size !== poolBytes) return original(size, ...rest)
    drawn++
    return Buffer.from(Array.from({ length: size }, () => random.between(0, 255)))
  }
  crypto.randomBytes = seeded as typeof original
  syncBuiltinESMExports()
  // What was drawn before is used up first.
  for (let i = 0; drawn === 0 && i < poolBytes; i++) newId(0)
  if (drawn === 0) throw new Error('ids are not drawn in pools any more: seed them in another way')
  return {
    [Symbol.dispose]() {
      crypto.randomBytes = original
      syncBuiltinESMExports()
    },
  }
}
