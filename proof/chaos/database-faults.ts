/** What other users of the same PostgreSQL may do to it: long transactions, locks, all its connections. */
import { type FaultSite, pause } from './faults.ts'
import { maxConnections } from './stage.ts'

export interface HeldTransaction {
  what: string
  begin: string
  take: string
  forMs: number
}

export async function holdTransaction(
  site: FaultSite,
  { what, begin, take, forMs }: HeldTransaction,
): Promise<boolean> {
  const client = await site.stage.connect().catch(() => null)
  if (!client) return false
  try {
    await client.query(begin)
    await client.query(take)
    site.tell(`${what} for ${forMs} ms`)
    await pause(site, forMs)
    return true
  } catch {
    return false // the database went away meanwhile
  } finally {
    await client.end().catch(() => {})
  }
}

/** Takes every connection that is left, and lets a node lose its own: it gets none in exchange. */
export async function exhaustConnections(site: FaultSite): Promise<boolean> {
  const { stage, random, tell } = site
  const asked = await Promise.all(Array.from({ length: maxConnections }, () => stage.connect().catch(() => null)))
  const taken = asked.filter((client) => client !== null)
  try {
    if (taken.length === 0) return false
    const { seat, toDatabase } = random.pick(stage.nodes)
    const forMs = random.whole(1_500, 4_000)
    tell(`the last ${taken.length} taken for ${forMs} ms, ${seat.name} disconnected`)
    toDatabase.cut()
    // What the node had is taken too as it becomes free.
    for (let n = 0; n < 5; n++) {
      await pause(site, forMs / 5)
      const client = await stage.connect().catch(() => null)
      if (client) taken.push(client)
    }
    return true
  } finally {
    await Promise.all(taken.map((client) => client.end().catch(() => {})))
  }
}
