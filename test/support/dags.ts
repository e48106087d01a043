/** Runs of graphs in a store without a node: the test decides what is advanced, leased and reported, and when. */

import type { DagStep } from '@carillon/contract'
import { Advancer } from '../../packages/server/src/dags/advancer.ts'
import type { DefinedStep } from '../../packages/server/src/dags/define-steps.ts'
import { type AskedRun, DagRuns } from '../../packages/server/src/dags/runs.ts'
import { stepsText } from '../../packages/server/src/dags/steps-text.ts'
import { stepId } from '../../packages/server/src/domain/identity.ts'
import type { Leadership } from '../../packages/server/src/leadership/port.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import type { ExecutionRecord } from '../../packages/server/src/store/executions/read.ts'
import { readExecution } from '../../packages/server/src/store/executions/read.ts'
import type { LedShard } from '../../packages/server/src/store/shards/claim.ts'
import { deaf, type TestStore, tenant } from './store.ts'

const clock = { now: () => Date.now() }

/** By name, what each step depends on, in an order in which each comes after those; or with more about it. */
export type Graph = Record<string, string[] | ({ after: string[] } & Partial<DefinedStep>)>

export function definedSteps(graph: Graph): DefinedStep[] {
  const names = Object.keys(graph)
  const after = (name: string) => {
    const given = graph[name]!
    return (Array.isArray(given) ? given : given.after).map((each) => names.indexOf(each))
  }
  return names.map((name, place) => {
    const given = graph[name]!
    const { after: _, ...more } = Array.isArray(given) ? { after: given } : given
    const children = names.flatMap((other, number) => (after(other).includes(place) ? [number] : []))
    return {
      ...{
        name,
        dependsOn: after(name),
        children,
        runIf: 'ALL_SUCCEEDED',
        allowFailure: false,
        pool: 'default',
        lane: 2,
      },
      ...{ handler: 'h', payload: null, policy: null, labels: null, ...more },
    }
  })
}

/** In the form of the contract. */
function stepOf(
  steps: DefinedStep[],
  { name, dependsOn, runIf }: Pick<DefinedStep, 'name' | 'dependsOn' | 'runIf'>,
): DagStep {
  return { name, dependsOn: dependsOn.map((place) => steps[place]!.name), runIf, target: { handler: 'h' } }
}

export class TestRuns {
  readonly runs: DagRuns
  readonly store: TestStore
  readonly #advancer: Advancer

  constructor(store: TestStore, led: readonly LedShard[] = store.led) {
    this.store = store
    const { database } = store
    this.runs = new DagRuns({ database, clock, signals: deaf })
    const leadership = { shards: () => led, onChange: () => () => {} } as unknown as Leadership
    const tag = async (flows: readonly unknown[]) => flows.map(() => store.tag())
    this.#advancer = new Advancer({
      ...{ database, leadership, signals: deaf, clock, tag, pollMs: 1_000, logger: createLogger('silent') },
      tellEnd: async () => true,
    })
  }

  async start(
    graph: Graph,
    more: { payload?: string; deadlineSec?: number } & Pick<AskedRun, 'started' | 'fanOut'> = {},
  ): Promise<string> {
    const steps = definedSteps(graph)
    const { payload = null, deadlineSec = null, started, fanOut } = more
    const asked = {
      dag: null,
      name: 'graph',
      steps,
      stepsText: stepsText(steps.map(({ name, dependsOn, runIf }) => stepOf(steps, { name, dependsOn, runIf }))),
      ...{ payload, deadlineSec, started, fanOut },
    }
    return (await this.runs.start({ tenant, actor: 'test' }, { ...asked, labels: null, traceparent: null })).runId
  }

  advance(): Promise<void> {
    return this.#advancer.runOnce()
  }

  /** The execution of a step. */
  async step(runId: string, number: number): Promise<ExecutionRecord> {
    return (await readExecution(this.store.database, tenant, stepId(runId, number)))!
  }

  /** States in the order of the steps. */
  async states(runId: string): Promise<string[]> {
    const run = await this.runs.read(tenant, runId)
    return (await this.runs.readSteps(run)).map(
      ({ name, state, reason }) => `${name} ${state}${reason ? ` ${reason}` : ''}`,
    )
  }
}
