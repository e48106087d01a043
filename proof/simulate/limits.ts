/** Limits that work is drawn with: of each tenant, and one that tenants share. */
import { putLimit } from '../../packages/server/src/store/limits/declared.ts'
import type { Client } from './client.ts'
import { tenants } from './jobs.ts'
import type { Random } from './random.ts'

/** They do not change while the world lasts: a history is judged by them. */
const declared = () => [
  ...tenants.map((owner) => ({ owner, name: 'acct', concurrency: 2, rate: null })),
  ...tenants.map((owner) => ({ owner, name: 'paced', concurrency: null, rate: { count: 4, perSec: 1 } })),
  { owner: null, name: 'shared', concurrency: 2, rate: null },
]

export async function declareLimits(client: Client): Promise<void> {
  for (const limit of declared()) {
    await client.untilAnswered('declare limit', async ({ database, signals }) => {
      await putLimit(database, {
        ...limit,
        for: 'KEY',
        subject: null,
        description: null,
        version: null,
        actor: 'client',
      })
      signals.publish({ kind: 'TENANTS' })
    })
  }
}

export function drawLimits(random: Random): string[] | undefined {
  if (!random.chance(0.25)) return undefined
  return random.pick([['acct:a'], ['acct:a'], ['acct:b', 'shared'], ['shared'], ['paced'], ['shared', 'acct:a']])
}
