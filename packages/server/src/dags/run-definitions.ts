/** The steps of runs, as they were when the runs were created: they never change, so what was read once is kept for a while. */

import type { Awaited, RunCondition } from '@carillon/contract'
import { stepIds } from '../domain/identity.ts'
import { type RunDefinition, readRunDefinitions } from '../store/dags/runs.ts'
import type { Database } from '../store/database.ts'
import { parseSteps } from './steps-text.ts'

/** What has to be known of a step to advance its run. Its number is its place. */
export interface RunStep {
  name: string
  /** Places. */
  dependsOn: number[]
  runIf: RunCondition
  when: string | null
  waitFor: Awaited | null
}

/** The steps of a run, and their executions. */
export interface RunSteps {
  steps: RunStep[]
  /** By number. */
  ids: string[]
}

/** Of its text, in which each step comes after those it depends on. */
export function runSteps({ steps: text, stepCount, fanOut }: Omit<RunDefinition, 'runId'>): RunStep[] {
  const steps = parseSteps(text)
  if (fanOut) return itemsOfStep(steps[0]!.name, stepCount)
  const places = new Map(steps.map(({ name }, place) => [name, place]))
  return steps.map(({ name, dependsOn = [], runIf = 'ALL_SUCCEEDED', when = null, waitFor = null }) => ({
    name,
    dependsOn: dependsOn.map((each) => places.get(each)!),
    runIf,
    when,
    waitFor,
  }))
}

/** The items of a fan-out, named by their numbers. */
export function itemName(step: string, number: number): string {
  return `${step}.${number}`
}

function itemsOfStep(step: string, count: number): RunStep[] {
  return Array.from({ length: count }, (_, number) => ({
    ...{ name: itemName(step, number), dependsOn: [], runIf: 'ALL_SUCCEEDED', when: null, waitFor: null },
  }))
}

/** Steps of all runs together that are kept. */
const mostSteps = 50_000

export class RunDefinitions {
  readonly #database: Database
  /** Oldest first. */
  readonly #kept = new Map<string, RunSteps>()
  #steps = 0

  constructor(database: Database) {
    this.#database = database
  }

  /** By run; one that is not there is left out. */
  async of(runIds: readonly string[]): Promise<Map<string, RunSteps>> {
    const found = new Map<string, RunSteps>()
    const missing: string[] = []
    for (const runId of new Set(runIds)) {
      const kept = this.#kept.get(runId)
      if (kept) found.set(runId, kept)
      else missing.push(runId)
    }
    if (missing.length === 0) return found
    for (const { runId, ...definition } of await readRunDefinitions(this.#database, missing)) {
      const steps = runSteps(definition)
      const run = { steps, ids: stepIds(runId, steps.length) }
      found.set(runId, run)
      this.#keep(runId, run)
    }
    return found
  }

  forget(runIds: readonly string[]): void {
    for (const runId of runIds) {
      const kept = this.#kept.get(runId)
      if (!kept) continue
      this.#steps -= kept.steps.length
      this.#kept.delete(runId)
    }
  }

  #keep(runId: string, run: RunSteps): void {
    this.#kept.set(runId, run)
    this.#steps += run.steps.length
    for (const oldest of this.#kept.keys()) {
      if (this.#steps <= mostSteps) break
      this.forget([oldest])
    }
  }
}
