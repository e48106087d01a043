/** Inflicts what was planned, each at its time, and writes down when what was done. */
import { setTimeout as after } from 'node:timers/promises'
import type { Trouble } from '../history.ts'
import type { PlannedFault } from './fault-plan.ts'
import { type Fault, type FaultSite, faults } from './faults.ts'
import { serverFaults } from './server-faults.ts'

const allFaults = { ...faults, ...serverFaults } satisfies Record<string, Fault>
export type FaultKind = keyof typeof allFaults

export interface FaultRunnerOptions {
  site: Omit<FaultSite, 'tell'>
  /** When the plan's time begins. */
  from: number
  log: (line: string) => void
}

/** When nobody is there to be harmed, it is tried again so often. */
const tries = 80
const againMs = 500

export class FaultRunner {
  readonly troubles: Trouble[] = []
  readonly #options: FaultRunnerOptions

  constructor(options: FaultRunnerOptions) {
    this.#options = options
  }

  /** Resolves when the last one is mended. Faults may come together. */
  async run(plan: readonly PlannedFault<FaultKind>[]): Promise<void> {
    await Promise.all(plan.map((planned, n) => this.#inflict(planned, n)))
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { kind } of this.troubles) counts[kind] = (counts[kind] ?? 0) + 1
    return counts
  }

  async #inflict({ kind, atMs }: PlannedFault<FaultKind>, number: number): Promise<void> {
    const { site, from, log } = this.#options
    const { signal } = site
    // Each draws from numbers of its own: what it does is the seed's, whenever the others draw theirs.
    const random = site.random.fork(`${number}`)
    await after(from + atMs - Date.now(), undefined, { signal }).catch(() => {})
    for (let n = 0; n < tries && !signal.aborted; n++) {
      const began = Date.now()
      const tell = (victim: string) => log(`${((Date.now() - from) / 1_000).toFixed(1)} s  ${kind}: ${victim}`)
      if (await allFaults[kind]({ ...site, random, tell })) {
        this.troubles.push({ kind, from: began, to: Date.now() })
        return
      }
      await after(againMs, undefined, { signal }).catch(() => {})
    }
  }
}
