/** How the topics of a pool are called: one for each lane, `<prefix>.ready.<pool>.<lane>`. */
import { createHash } from 'node:crypto'
import { priorities } from '@carillon/contract'

/** The longest name of a topic that Kafka allows is 249. */
const longestPool = 100

/** By lane. */
export function topicsOf(prefix: string, pool: string): readonly string[] {
  return Object.freeze(priorities.map((lane) => `${prefix}.ready.${encoded(pool)}.${lane}`))
}

/** The consumer group of a pool. An installation that shares the topics with another by mistake has a group of its own. */
export function groupOf(prefix: string, installationId: string, pool: string): string {
  return `${prefix}.${installationId}.${encoded(pool)}`
}

/** Letters, digits and dashes as they are, `_` and two or more hexadecimal digits and `_` for every other character. */
function encoded(pool: string): string {
  const text = Array.from(pool, (character) =>
    /[a-zA-Z0-9-]/.test(character) ? character : `_${character.codePointAt(0)!.toString(16).padStart(2, '0')}_`,
  ).join('')
  if (text.length <= longestPool) return text
  return `${text.slice(0, longestPool - 33)}_${createHash('sha256').update(pool).digest('hex').slice(0, 32)}`
}

/**
 * Of topics that Carillon creates. A message is worthless when its row has left `ready`, so it need not be kept for long; segments are
 * short, because Kafka removes whole ones only.
 */
export const topicConfig = { 'retention.ms': '600000', 'segment.ms': '600000', 'cleanup.policy': 'delete' }
