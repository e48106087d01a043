/**
 * The sides that are compared: PostgreSQL alone, all settings of scale-out, and all of them but the queue in Kafka. Nodes of one run only while it is measured, so that what
 * an idle node asks PostgreSQL for is not counted with the other's work.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineSettings } from '@carillon/server'
import type { Installation, Workers } from '../ground/ground.ts'
import { submitNow } from '../load/create-jobs.ts'
import type { Round } from '../measure/rounds.ts'
import type { Bench } from '../scenario.ts'

export interface Side {
  /** For people, in the names of results. */
  name: string
  settings: EngineSettings
}

export const postgresAlone: Side = { name: 'PostgreSQL alone', settings: {} }

export async function allFour(bench: Bench): Promise<Side> {
  const { redis, etcd, kafka } = await bench.ground.scaleOut()
  return { name: 'all four', settings: { leadership: etcd, hotWindow: redis, signals: redis, queue: kafka } }
}

/** In the full form also all but the queue: it tells what Kafka costs or saves. */
export async function allSides(bench: Bench): Promise<Side[]> {
  const four = await allFour(bench)
  return bench.quick ? [postgresAlone, four] : [postgresAlone, four, allButQueue(four)]
}

export function allButQueue({ settings: { queue, ...settings } }: Side): Side {
  return { name: 'all but the queue', settings }
}

let opened = 0

/** An installation of its own, without a node. Its topics are its own, since those of another are full of messages. */
export function openSide(bench: Bench, { settings }: Side): Promise<Installation> {
  const { queue } = settings
  const own = queue === undefined ? settings : { ...settings, queue: `${queue}/bench-${++opened}` }
  return bench.ground.installation({ nodes: 0, settings: own })
}

/** Ends the nodes afterwards. What the turn before has left dead or dirty is not paid for in this one. */
export async function withNodes<T>(
  installation: Installation,
  { count, settings }: { count: number; settings?: EngineSettings },
  work: () => Promise<T>,
): Promise<T> {
  await installation.query('vacuum carillon.ready, carillon.leases, carillon.executions')
  await installation.query('checkpoint')
  for (let n = 0; n < count; n++) await installation.startNode({ settings })
  const answer = await work()
  await installation.stopNodes()
  return answer
}

const lookEveryMs = 200
const usedWithinMs = 60_000

/** With a queue in Kafka: waits until messages go through it. The workers must serve `default`, and have nothing to do. */
export async function untilUsed(
  installation: Installation,
  workers: Workers,
  { queue }: EngineSettings,
): Promise<void> {
  if (queue === undefined) return
  const latest = performance.now() + usedWithinMs
  for (;;) {
    const wanted = workers.count() + 1
    await submitNow(installation, 1)
    await workers.finished(wanted, usedWithinMs)
    if ((await countsOf(installation)).published > 0) return
    if (performance.now() > latest) throw new Error(`nothing was published to Kafka within ${usedWithinMs} ms`)
    await sleep(lookEveryMs)
  }
}

export interface ServerCounts {
  /** To Kafka. */
  published: number
  /** Calls that PostgreSQL answered because a server was away. */
  fallbacks: number
}

/** Of all nodes since their start. */
export async function countsOf({ urls, adminToken }: Installation): Promise<ServerCounts> {
  const counts = { published: 0, fallbacks: 0 }
  for (const url of urls) {
    const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })
    if (!answer.ok) throw new Error(`/metrics was answered ${answer.status}`)
    const text = await answer.text()
    counts.published += sumOf(text, 'carillon_queue_published_total')
    counts.fallbacks += sumOf(text, 'carillon_fallbacks_total')
  }
  return counts
}

/** For a round's detail. */
export function countsDetail({ published, fallbacks }: ServerCounts): Round['detail'] {
  return { 'published to Kafka': published, fallbacks }
}

function sumOf(text: string, metric: string): number {
  const lines = text.matchAll(new RegExp(`^${metric}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))
  return [...lines].reduce((sum, [, value]) => sum + Number(value), 0)
}
