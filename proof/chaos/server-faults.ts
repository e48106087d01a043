/** What is done to Redis, etcd and Kafka: each is killed, frozen and cut off; Redis is emptied; Kafka loses a topic. */
import { kafkaConnection, loadKafka } from '../../packages/server/src/kafka/client.ts'
import { askRedis } from '../../scripts/servers/redis.ts'
import type { ScaleOutName } from '../../scripts/servers/scale-out.ts'
import { cut, type Fault, type FaultSite, hold, pause, type Ways } from './faults.ts'
import type { SideServer } from './scale-out.ts'

export const serverFaults = {
  'redis killed': (site) => kill(site, 'redis'),
  'redis paused': (site) => freeze(site, 'redis', site.random.whole(500, 4_000)),
  'redis way cut': (site) => cut(site, waysTo(site, 'redis')),
  'redis way held': (site) => hold(site, waysTo(site, 'redis'), site.random.whole(1_000, 6_000)),
  'redis emptied': (site) =>
    upon(site, 'redis', async ({ running }) => {
      site.tell('FLUSHALL')
      return (await askRedis(running.port, 'FLUSHALL')).startsWith('+OK')
    }),
  'etcd killed': (site) => kill(site, 'etcd'),
  'etcd paused': (site) => freeze(site, 'etcd', site.random.whole(500, site.leaseMs + 2_000)),
  'etcd way cut': (site) => cut(site, waysTo(site, 'etcd')),
  'etcd way held': (site) => hold(site, waysTo(site, 'etcd'), site.random.whole(1_000, site.leaseMs + 4_000)),
  'kafka killed': (site) => kill(site, 'kafka'),
  'kafka paused': (site) => freeze(site, 'kafka', site.random.whole(1_000, 6_000)),
  'kafka way cut': (site) => cut(site, waysTo(site, 'kafka')),
  'kafka way held': (site) => hold(site, waysTo(site, 'kafka'), site.random.whole(1_000, 6_000)),
  'kafka topic deleted': deleteTopic,
} satisfies Record<string, Fault>

export type ServerFaultKind = keyof typeof serverFaults
export const serverFaultKinds = Object.keys(serverFaults) as ServerFaultKind[]

const kafkaTimeoutMs = 5_000

function find({ stage }: FaultSite, name: ScaleOutName): SideServer {
  const server = stage.scaleOut?.servers.find((each) => each.name === name)
  if (!server) throw new Error(`there is no ${name} in this run`)
  return server
}

async function upon(
  site: FaultSite,
  name: ScaleOutName,
  harm: (server: SideServer) => Promise<boolean>,
): Promise<boolean> {
  const server = find(site, name)
  if (server.taken) return false
  server.taken = true
  try {
    return await harm(server)
  } finally {
    server.taken = false
  }
}

function kill(site: FaultSite, name: ScaleOutName): Promise<boolean> {
  return upon(site, name, async (server) => {
    const forMs = site.random.whole(100, 4_000)
    site.tell(`started again after ${forMs} ms`)
    await server.kill()
    await pause(site, forMs)
    await server.start()
    return true
  })
}

function freeze(site: FaultSite, name: ScaleOutName, forMs: number): Promise<boolean> {
  return upon(site, name, async (server) => {
    site.tell(`for ${forMs} ms`)
    server.signal('SIGSTOP')
    await pause(site, forMs)
    server.signal('SIGCONT')
    return true
  })
}

/** Of one node, or of all. */
function waysTo(site: FaultSite, name: ScaleOutName): Ways {
  const { ways } = find(site, name)
  if (site.random.chance(0.3)) return { between: `all nodes and ${name}`, proxies: ways }
  const n = site.random.whole(0, ways.length - 1)
  return { between: `${site.stage.nodes[n]!.seat.name} and ${name}`, proxies: [ways[n]!] }
}

function deleteTopic(site: FaultSite): Promise<boolean> {
  return upon(site, 'kafka', async ({ running }) => {
    const { Admin } = await loadKafka()
    const address = { brokers: [`127.0.0.1:${running.port}`], auth: null, tls: null, prefix: '', replicas: null }
    const admin = new Admin(await kafkaConnection(address, { clientId: 'chaos', timeoutMs: kafkaTimeoutMs }))
    try {
      const topics = (await admin.listTopics()).sort()
      if (topics.length === 0) return false
      const topic = site.random.pick(topics)
      site.tell(topic)
      await admin.deleteTopics({ topics: [topic] })
      return true
    } catch {
      return false // it is just starting
    } finally {
      await admin.close().catch(() => {})
    }
  })
}
