/** The part of the examination that looks at subscriptions: how far they lag behind, and whether a node serves them. */
import type { Database } from '../store/database.ts'
import { readSubscriptions, type SubscriptionRecord } from '../store/events/subscriptions.ts'
import { type Finding, ok, warn } from './findings.ts'

/** A node that serves one says so each second. */
const unservedMs = 30_000
const lagWarnMs = 60_000
const check = 'subscriptions'

export async function examineSubscriptions(database: Database): Promise<Finding[]> {
  return (await readSubscriptions(database)).map(examineSubscription)
}

function examineSubscription(subscription: SubscriptionRecord): Finding {
  const { name, source, lag, lagMs, dropped, servedBy, servedMs } = subscription
  const behind = lag === 0 ? 'nothing undelivered' : `${lag} undelivered, the oldest for ${seconds(lagMs)}`
  const gaps = dropped === 0 ? '' : `, ${dropped} dropped undelivered`
  const what = `${name} to ${source}: ${behind}${gaps}`
  if (servedMs === null || servedMs >= unservedMs) {
    const since = servedMs === null ? 'no node has ever served it' : `no node serves it for ${seconds(servedMs)}`
    const hint = `Start all nodes with --publish-events, or end it: carillon events unsubscribe ${name}`
    return warn(check, `${what}; ${since}`, hint)
  }
  if (lagMs >= lagWarnMs) {
    return warn(check, `${what}; served by ${servedBy}`, `See the log of ${servedBy}: is the subscriber there?`)
  }
  return ok(check, `${what}; served by ${servedBy}`)
}

function seconds(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1_000)} s` : `${Math.round(ms / 60_000)} min`
}
