/** What differs between what the oracle says and what Carillon says. */
import { isDeepStrictEqual } from 'node:util'
import { type Seen, seenByOracle, seenInDatabase } from './observe.ts'
import type { World } from './oracle/world.ts'
import type { Rig } from './rig.ts'

/** The two sides say different things. */
export class Difference extends Error {}

/** Compares answers to one question. */
export function agree(what: string, oracle: unknown, carillon: unknown): void {
  if (isDeepStrictEqual(oracle, carillon)) return
  throw new Difference(`${what}: the oracle says ${JSON.stringify(oracle)}, Carillon ${JSON.stringify(carillon)}`)
}

/** Compares all that can be seen, and returns it. */
export async function compare(world: World, rig: Rig): Promise<Seen> {
  const seen = await seenInDatabase(rig.database)
  const differences = differencesOf(seenByOracle(world), seen)
  if (differences.length === 0) return seen
  const shown = differences.slice(0, 12).map((line) => named(world, line))
  const more = differences.length - shown.length
  throw new Difference([...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'))
}

export function differencesOf(oracle: Seen, carillon: Seen): string[] {
  const lines: string[] = []
  for (const [key, expected] of oracle) {
    const found = carillon.get(key)
    if (!found) lines.push(`${key}: Carillon has none`)
    else {
      for (const field of new Set([...Object.keys(expected), ...Object.keys(found)])) {
        const [ours, theirs] = [expected[field] ?? null, found[field] ?? null]
        if (ours !== theirs) lines.push(`${key}: ${field} is ${theirs}, the oracle says ${ours}`)
      }
    }
  }
  for (const [key, found] of carillon) {
    if (!oracle.has(key)) lines.push(`${key}: the oracle has none, Carillon ${JSON.stringify(found)}`)
  }
  return lines
}

/** Ids as people can tell them apart. */
function named(world: World, line: string): string {
  let text = line
  for (const { id, name } of [...world.executions.values(), ...world.jobs.values(), ...world.runs.values()])
    text = text.replaceAll(id, `[${name}]`)
  return text
}
