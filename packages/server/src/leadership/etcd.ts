/**
 * Leadership by etcd. Every node has a lease there, and under it a key of its own and one for each shard that it was elected to
 * lead: the node that creates a shard's key first is elected, until the key goes with the lease or is given up. The nodes that have a key
 * share the shards evenly.
 *
 * PostgreSQL has the last word: a node leads what claim_elected lets it have, in the epoch that is counted there. So etcd may forget,
 * go back to an old snapshot or give one shard to two nodes, and nothing fires twice. The node also keeps its lease in PostgreSQL: one
 * that cannot reach PostgreSQL gives up its keys, and one without etcd steps aside in time.
 *
 * When etcd cannot be reached, the node leads nothing from the moment at which its lease there may have ended. With `fallback` it
 * then takes part in the election by leases in PostgreSQL, until etcd answers again.
 */
import { CarillonError } from '@carillon/contract'
import type { Etcd3, IOptions, Lease } from 'etcd3'
import type { KeepAlive, NodeLease } from '../keep-alive/keep-alive.ts'
import { monotonicMs, wallClockIn } from '../lib/clock.ts'
import { Loop } from '../lib/loop.ts'
import { readTlsFiles } from '../lib/tls-files.ts'
import type { Logger } from '../observability/logger.ts'
import type { Database } from '../store/database.ts'
import { readInstallation } from '../store/partitions/manage.ts'
import { claimElected, claimShards, type ElectedShard, resign } from '../store/shards/claim.ts'
import { reasonUnreachable } from './etcd-reach.ts'
import { EtcdWatch } from './etcd-watch.ts'
import type { Leadership, LedShard } from './port.ts'
import { ShardList } from './shard-list.ts'

export interface EtcdLeadershipOptions {
  place: EtcdPlace
  database: Database
  keepAlive: KeepAlive
  lease: NodeLease
  everyMs: number
  logger: Logger
  /** Called when etcd can no longer be reached, and when it can again. */
  onAway?: (away: boolean) => void
}

/** Where etcd is. */
export interface EtcdPlace {
  hosts: string[]
  auth: { username: string; password: string } | null
  /** Files. */
  tls: { ca: string; cert?: string; key?: string } | null
  /** What all keys begin with; the id of the installation follows. */
  path: string
  /** While etcd is away, leaders are elected by leases in PostgreSQL. */
  fallback: boolean
}

/** What etcd has, in one answer. */
interface Election {
  /** Of the cluster. */
  elector: string
  /** Ids of nodes, sorted. */
  nodes: string[]
  /** By shard. */
  leaders: Map<number, { nodeId: string; revision: number }>
}

export class EtcdLeadership implements Leadership {
  readonly #options: EtcdLeadershipOptions
  readonly #ttlSec: number
  readonly #loop: Loop
  readonly #led: ShardList
  readonly #onFreed = new Set<() => void>()
  /** Of the keys of shards: the others need not wait for their next look when a leader has died. */
  readonly #watch = new EtcdWatch(() => this.wake())
  #client: Etcd3 | null = null
  /** Of all keys of the installation. */
  #prefix = ''
  #shardCount = 0
  #lease: Lease | null = null
  /** Until when etcd keeps the lease for certain, by `monotonicMs`. */
  #heldUntil = Number.NEGATIVE_INFINITY
  #stepDown: NodeJS.Timeout | null = null
  /** When PostgreSQL answered a claim last. */
  #claimedAt = Number.NEGATIVE_INFINITY
  #elects: 'etcd' | 'PostgreSQL' = 'etcd'
  #away = false
  #alone = false
  #stopped = true

  constructor(options: EtcdLeadershipOptions) {
    this.#options = options
    this.#ttlSec = Math.ceil(options.lease.leaseMs / 1_000)
    this.#led = new ShardList(options.logger)
    this.#loop = new Loop({
      name: 'leadership',
      everyMs: options.everyMs,
      logger: options.logger,
      runOnce: () => this.runOnce(),
    })
  }

  async start(): Promise<void> {
    const { keepAlive, lease, database, place, logger } = this.#options
    this.#stopped = false
    this.#client = await connect(place)
    await keepAlive.startRenewing(lease)
    const { installationId, shardCount } = await readInstallation(database)
    this.#prefix = `${place.path}/${installationId}/`
    this.#shardCount = shardCount
    // A node starts without etcd, too: it serves requests and workers, and leads when etcd is back.
    await this.runOnce().catch((error) =>
      logger.warn({ err: error }, 'etcd cannot be reached; this node leads nothing yet'),
    )
    await this.#loop.start()
  }

  async stop(): Promise<void> {
    const { database, keepAlive, lease } = this.#options
    if (this.#stopped) return
    this.#stopped = true
    await this.#loop.stop()
    this.#alone = false
    this.#led.set([])
    await keepAlive.stopRenewing()
    try {
      await resign(database, lease.nodeId)
    } finally {
      await this.#watch.close(this.#ttlSec * 500)
      await this.#revoke()
      this.#client?.close()
    }
    this.#freed()
  }

  shards(): readonly LedShard[] {
    return this.#mayLead() ? this.#led.shards : []
  }

  alone(): boolean {
    return this.#alone
  }

  onChange(listener: (shards: readonly LedShard[]) => void): () => void {
    return this.#led.onChange(listener)
  }

  onFreed(listener: () => void): () => void {
    this.#onFreed.add(listener)
    return () => this.#onFreed.delete(listener)
  }

  wake(): void {
    this.#loop.wake()
  }

  async runOnce(): Promise<void> {
    let election: Election
    // A node that is elected without PostgreSQL would keep shards from those that reach it.
    if (this.#lease === null) await readInstallation(this.#options.database)
    try {
      await this.#renew()
      this.#watch.open(this.#client!, `${this.#prefix}shards/`)
      election = await this.#look()
      this.#setAway(false)
    } catch (error) {
      this.#setAway(true)
      if (this.#mayLead() && this.#elects === 'etcd') throw error
      this.#led.set(this.#elects === 'etcd' ? [] : this.#led.shards)
      if (!this.#options.place.fallback) throw error
      await this.#electByPostgres(error)
      return
    }
    if (this.#elects === 'PostgreSQL')
      this.#options.logger.info({}, 'etcd answers again and elects the leaders of shards')
    this.#elects = 'etcd'
    await this.#electByEtcd(election)
  }

  async #electByEtcd(election: Election): Promise<void> {
    const { database, lease } = this.#options
    const { kept, extra } = this.#share(election)
    const taken = await this.#take(election, this.#shareOf(election) - kept.length)
    const asked = { elector: election.elector, shards: [...kept, ...taken] }
    const { shards, alone, live } = await claimElected(database, lease.nodeId, asked).catch(async (error) => {
      if (monotonicMs() - this.#claimedAt >= lease.leaseMs) await this.#revoke()
      throw error
    })
    this.#claimedAt = monotonicMs()
    this.#alone = alone
    const before = this.#led.shards.length
    this.#led.set(shards)
    // Its lease in PostgreSQL has run out: others shall have the shards.
    if (!live) await this.#revoke()
    else await Promise.all(extra.map((each) => this.#giveUp(each)))
    if (shards.length < before || extra.length > 0) this.#freed()
  }

  async #electByPostgres(error: unknown): Promise<void> {
    const { database, lease, logger } = this.#options
    if (this.#elects === 'etcd') {
      logger.warn({ err: error }, 'etcd cannot be reached; the leaders of shards are elected in PostgreSQL')
    }
    this.#elects = 'PostgreSQL'
    const { shards, alone } = await claimShards(database, lease.nodeId)
    this.#alone = alone
    this.#led.set(shards)
  }

  /** Prolongs the lease, or gets a new one. */
  async #renew(): Promise<void> {
    const askedAt = monotonicMs()
    if (this.#lease !== null) {
      try {
        await this.#lease.keepaliveOnce(this.#limit())
        this.#held(askedAt)
        return
      } catch (error) {
        if (!this.#lease.revoked()) throw error
        // etcd does not know it any more: what it elected this node to is void.
        this.#lost()
      }
    }
    const { lease } = this.#options
    const client = this.#client!
    const granted = client.lease(this.#ttlSec, { autoKeepAlive: false, ...this.#limit() })
    // Reported by `grant`, and by every call that uses it.
    granted.on('lost', () => {})
    const id = await granted.grant()
    await client
      .put(`${this.#prefix}nodes/${lease.nodeId}`)
      .value(lease.nodeName)
      .lease(id)
      .options(this.#limit())
      .exec()
    this.#lease = granted
    this.#held(askedAt)
  }

  #held(since: number): void {
    this.#heldUntil = since + this.#ttlSec * 1_000
    if (this.#stepDown) clearTimeout(this.#stepDown)
    this.#stepDown = setTimeout(
      () => {
        if (this.#elects === 'etcd' && !this.#mayLead()) this.#led.set([])
        // A timer may be early by the part of a millisecond that it cannot count.
      },
      this.#heldUntil - monotonicMs() + 1,
    )
    this.#stepDown.unref()
  }

  #lost(): void {
    this.#lease = null
    this.#heldUntil = Number.NEGATIVE_INFINITY
    if (this.#elects === 'etcd') this.#led.set([])
  }

  #mayLead(): boolean {
    return this.#elects === 'PostgreSQL' || monotonicMs() < this.#heldUntil
  }

  async #look(): Promise<Election> {
    const prefix = this.#prefix
    const { header, kvs } = await this.#client!.getAll().prefix(prefix).options(this.#limit()).exec()
    const nodes: string[] = []
    const leaders: Election['leaders'] = new Map()
    for (const { key, value, create_revision } of kvs) {
      const [kind, name] = key.toString().slice(prefix.length).split('/') as [string, string]
      if (kind === 'nodes') nodes.push(name)
      else if (kind === 'shards')
        leaders.set(Number(name), { nodeId: value.toString(), revision: Number(create_revision) })
    }
    return { elector: header.cluster_id, nodes: nodes.sort(), leaders }
  }

  /** As in PostgreSQL: even shares, the remainder by order of the ids. */
  #shareOf({ nodes }: Election): number {
    const place = nodes.indexOf(this.#options.lease.nodeId)
    if (place < 0) return 0
    return Math.floor(this.#shardCount / nodes.length) + (place < this.#shardCount % nodes.length ? 1 : 0)
  }

  #share(election: Election): { kept: ElectedShard[]; extra: ElectedShard[] } {
    const { nodeId } = this.#options.lease
    const own = [...election.leaders].flatMap(([shard, { nodeId: leader, revision }]) =>
      leader === nodeId ? [{ shard, revision }] : [],
    )
    own.sort((a, b) => a.shard - b.shard)
    const share = this.#shareOf(election)
    return { kept: own.slice(0, share), extra: own.slice(share) }
  }

  /** Creates the keys of shards that have none. Another node may be faster: then the next run looks again. */
  async #take(election: Election, count: number): Promise<ElectedShard[]> {
    if (count <= 0) return []
    const free = Array.from({ length: this.#shardCount }, (_, shard) => shard).filter(
      (shard) => !election.leaders.has(shard),
    )
    // Nodes that come at the same time begin at different ones.
    const from = Math.max(0, election.nodes.indexOf(this.#options.lease.nodeId)) * count
    const wanted = free.map((_, i) => free[(from + i) % free.length]!).slice(0, count)
    const taken = await Promise.all(wanted.map((shard) => this.#create(shard)))
    return taken.filter((each) => each !== null)
  }

  async #create(shard: number): Promise<ElectedShard | null> {
    const client = this.#client!
    const id = await this.#lease!.grant()
    const key = this.#keyOf(shard)
    const { succeeded, header } = await client
      .if(key, 'Create', '==', 0)
      .then(client.put(key).value(this.#options.lease.nodeId).lease(id))
      .options(this.#limit())
      .commit()
    return succeeded ? { shard, revision: Number(header.revision) } : null
  }

  async #giveUp({ shard, revision }: ElectedShard): Promise<void> {
    const client = this.#client!
    const key = this.#keyOf(shard)
    await client.if(key, 'Create', '==', revision).then(client.delete().key(key)).options(this.#limit()).commit()
  }

  async #revoke(): Promise<void> {
    const lease = this.#lease
    this.#lost()
    if (this.#stepDown) clearTimeout(this.#stepDown)
    // If it is lost, the lease runs out.
    await lease?.revoke(this.#limit()).catch(() => {})
  }

  #keyOf(shard: number): string {
    return `${this.#prefix}shards/${shard}`
  }

  /** No call waits longer than half of what the lease lasts. */
  #limit(): { deadline: number } {
    return { deadline: wallClockIn(this.#ttlSec * 500) }
  }

  #setAway(away: boolean): void {
    const { place, logger, onAway } = this.#options
    onAway?.(away)
    const isNew = away && !this.#away
    this.#away = away
    if (!isNew) return
    const explain = async () => {
      const reason = await reasonUnreachable(place)
      if (reason !== null) logger.warn({ reason }, `etcd cannot be reached: ${reason}`)
    }
    explain().catch((error) => logger.debug({ err: error }, 'why etcd cannot be reached was not found out'))
  }

  #freed(): void {
    for (const listener of this.#onFreed) listener()
  }
}

/** The package is an optional peer: it is loaded when it is asked for. */
async function connect({ hosts, auth, tls }: EtcdPlace): Promise<Etcd3> {
  const { Etcd3 } = await import('etcd3').catch(missing)
  const options: IOptions = {
    hosts,
    // Back soon after etcd is; two minutes unless said.
    grpcOptions: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 },
  }
  if (auth !== null) options.auth = auth
  if (tls !== null) {
    const { ca, cert, key } = await readTlsFiles(tls)
    options.credentials = { rootCertificate: ca!, ...(cert && { certChain: cert, privateKey: key }) }
  }
  return new Etcd3(options)
}

function missing(cause: NodeJS.ErrnoException): never {
  if (cause.code !== 'ERR_MODULE_NOT_FOUND') throw cause
  throw new CarillonError(
    'CONFIG_INVALID',
    {
      pointer: '/leadership',
      message: 'Leadership by etcd needs the package etcd3, which is not installed',
      hint: 'Run npm install etcd3, or leave the setting out: PostgreSQL elects then',
    },
    { cause },
  )
}
