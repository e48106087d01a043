/**
 * A deliberate defect: the simulator must find it. Each is a small change of an installed SQL function, of what passes
 * between a node and its database or its workers, or of the settings.
 */
import type { EngineSettings } from '../../../packages/server/src/config/engine-config.ts'
import type { Tamper } from '../database.ts'
import type { Random } from '../random.ts'
import type { World } from '../world.ts'

/** Every `from` in the text of the function becomes `to`. */
export interface SqlChange {
  name: string
  from: string
  to: string
}

export interface Variant {
  name: string
  /** What is broken. */
  what: string
  sql?: SqlChange[]
  settings?: EngineSettings
  /** Heartbeats of workers go ahead of the outcomes that belong to them. */
  heartbeatsApart?: boolean
  tamper?: (world: World, random: Random) => Tamper
}
