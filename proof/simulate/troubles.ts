/** What goes wrong, from the seed: every kind in some seeds, several at once in most, all of it over at a known time. */
import type { Silenced, Trouble } from '../history.ts'
import { calm, type FaultLog, type Network, type Rates } from './network.ts'
import type { SimulatedNode } from './node.ts'
import type { Owner } from './owner.ts'
import type { Random } from './random.ts'
import type { SimulatedWorker } from './worker.ts'
import type { World } from './world.ts'

export interface TroublesOptions {
  world: World
  network: Network
  faults: FaultLog
  random: Random
  nodes: readonly SimulatedNode[]
  workers: readonly SimulatedWorker[]
  /** The id of the node that sweeps at this moment. */
  watcher: () => Promise<string | null>
}

/** As often as this per message at most; each seed draws its own. */
const highest: Rates = {
  ...{ failBefore: 0.02, failAfter: 0.02, slowStatement: 0.02, heldCommit: 0.04 },
  ...{ lostRequest: 0.05, lostAnswer: 0.05, lateMessage: 0.05, repeatedMessage: 0.1 },
  ...{ lostHint: 0.6, lateHint: 0.3, doubledHint: 0.2, leaderLost: 0.05 },
}

const quietMs = 4_000
/** So often the node that sweeps is killed: a little less often than another takes over. */
const killWatcherMs = [6_500, 7_500] as const

export class Troubles {
  readonly list: Trouble[] = []
  readonly silenced: Silenced[] = []
  /** Hints were lost, at some time. */
  losesHints = false
  readonly #options: TroublesOptions
  readonly #stopped = new Set<Owner>()
  #over = false

  constructor(options: TroublesOptions) {
    this.#options = options
  }

  get isOver(): boolean {
    return this.#over
  }

  /** After a while of quiet; for so long. */
  begin(forMs: number): void {
    const { world, random, network } = this.#options
    world.later(
      quietMs,
      () => {
        this.list.push({ kind: 'FAULTS', from: world.now, to: world.now + forMs })
        world.later(forMs, () => this.#heal(), world.root)
        if (random.chance(0.15)) return this.#watchersDie()
        network.rates = drawRates(random)
        this.losesHints = network.rates.lostHint > 0
        const kinds = events.filter(() => random.chance(0.55))
        if (kinds.length > 0) this.#next(kinds)
        if (random.chance(0.15)) world.later(random.whole(1_000, 20_000), () => this.#blackOut(), world.root)
      },
      world.root,
    )
  }

  #next(kinds: readonly Kind[]): void {
    const { world, random } = this.#options
    world.later(
      random.whole(500, 6_000),
      () => {
        if (this.#over) return
        this.#happen(random.pick(kinds))
        this.#next(kinds)
      },
      world.root,
    )
  }

  #happen(kind: Kind): void {
    const { world, random, faults, nodes, workers } = this.#options
    const node = random.pick(nodes)
    const worker = random.pick(workers)
    const atNode = kind.startsWith('NODE')
    const one = atNode ? node : worker
    if (!one.isUp || one.process.isStopped || node.main.isStopped) return
    faults.add(kind, one.name)
    const afterMs = random.whole(200, 8_000)
    switch (kind) {
      case 'NODE_CRASH':
      case 'WORKER_CRASH':
      case 'NODE_LEAVES':
      case 'WORKER_LEAVES':
        one.process.onGone(() => world.later(afterMs, () => this.#bringBack(one), world.root))
        if (kind.endsWith('LEAVES')) one.retire()
        else one.crash()
        return
      case 'NODE_STOPS':
      case 'WORKER_STOPS':
        // Often past every lease.
        this.#stop(one.process, random.chance(0.5) ? random.whole(7_500, 11_000) : random.whole(300, 7_000))
        return
      case 'NODE_STUCK':
        this.#stop(node.main, random.whole(300, 7_000))
        return
      case 'NODE_CLOCK':
      case 'WORKER_CLOCK':
        one.process.wallOffsetMs = random.whole(-3_600_000, 3_600_000)
        if (random.chance(0.5)) one.process.offsetMs += random.whole(1, 2_000)
    }
  }

  /** Everything is down, past the time after which what was missed is a misfire. */
  #blackOut(): void {
    const { world, random, faults, nodes, workers } = this.#options
    if (this.#over) return
    faults.add('BLACKOUT', 'everything')
    for (const one of [...nodes, ...workers]) one.crash()
    // They come back as another version, with other rules for clocks: every schedule is computed again.
    if (random.chance(0.5)) for (const node of nodes) node.tzVersion = '2026b'
    const back = () => {
      for (const one of [...nodes, ...workers]) this.#bringBack(one)
    }
    world.later(random.pick([8_000, 30_000, 70_000]), back, world.root)
  }

  /** A worker at work dies for good, and then the node that sweeps, again and again. Nothing else happens. */
  #watchersDie(): void {
    const { world, random, faults, workers } = this.#options
    const worker = random.pick(workers)
    if (this.#over) return
    if (!worker.isBusy || worker.workerId === null) {
      world.later(100, () => this.#watchersDie(), world.root)
      return
    }
    faults.add('WORKER_DIES', worker.name)
    worker.crash()
    this.silenced.push({ workerId: worker.workerId, at: world.now })
    const next = () => {
      if (this.#over) return
      void this.#watcherDies()
      world.later(random.whole(...killWatcherMs), next, world.root)
    }
    world.later(random.whole(0, killWatcherMs[0]), next, world.root)
  }

  async #watcherDies(): Promise<void> {
    const { world, random, faults, nodes, watcher } = this.#options
    const nodeId = await watcher()
    const node = nodes.find((each) => each.isUp && each.nodeId === nodeId)
    if (!node || this.#over) return
    faults.add('WATCHER_CRASH', node.name)
    const backMs = random.whole(1_000, 2_000)
    node.process.onGone(() => world.later(backMs, () => this.#bringBack(node), world.root))
    node.crash()
  }

  #stop(owner: Owner, forMs: number): void {
    const { world } = this.#options
    owner.stop()
    this.#stopped.add(owner)
    world.later(forMs, () => this.#goOn(owner), world.root)
  }

  #goOn(owner: Owner): void {
    if (this.#stopped.delete(owner)) this.#options.world.goOn(owner)
  }

  #bringBack(one: SimulatedNode | SimulatedWorker): void {
    if (!one.isUp) one.start(this.#over ? undefined : drawClock(this.#options.random))
  }

  /** Nothing disturbs any more, and everybody is there. */
  #heal(): void {
    const { world, network, random, nodes, workers } = this.#options
    // Nobody is back yet: then the trouble lasts until somebody is.
    if (!nodes.some((node) => node.isUp)) {
      this.list[0]!.to += 1_000
      world.later(1_000, () => this.#heal(), world.root)
      return
    }
    this.#over = true
    // That no hint arrives is no trouble: nothing may depend on one.
    network.rates = random.chance(0.5) ? { ...calm, lostHint: 1 } : calm
    this.losesHints ||= network.rates.lostHint > 0
    for (const owner of [...this.#stopped]) this.#goOn(owner)
    for (const one of [...nodes, ...workers]) {
      this.#bringBack(one)
      one.process.wallOffsetMs = 0
    }
  }
}

const events = [
  ...(['NODE_CRASH', 'NODE_STOPS', 'NODE_STUCK', 'NODE_LEAVES', 'NODE_CLOCK'] as const),
  ...(['WORKER_CRASH', 'WORKER_STOPS', 'WORKER_LEAVES', 'WORKER_CLOCK'] as const),
]
type Kind = (typeof events)[number]

function drawRates(random: Random): Rates {
  return Object.fromEntries(
    Object.entries(highest).map(([kind, rate]) => [kind, random.chance(0.5) ? rate * random.next() : 0]),
  ) as unknown as Rates
}

/** Off by up to ten seconds, and up to one in a thousand too fast or too slow. */
export function drawClock(random: Random): { offsetMs: number; drift: number } {
  if (random.chance(0.5)) return { offsetMs: 0, drift: 0 }
  return { offsetMs: random.whole(-10_000, 10_000), drift: (random.next() - 0.5) * 0.002 }
}
