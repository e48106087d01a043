/** From what a request asks for to a run: of a stored graph, or with steps of its own. */
import { CarillonError, type DagStep, type InlineRunInput, type RunInput } from '@carillon/contract'
import { inOrder } from '../domain/dag/graph.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import type { DagRecord } from '../store/dags/definitions.ts'
import type { Once } from '../store/idempotency/answers.ts'
import type { Dags, NamedDag } from './dags.ts'
import { defineSteps, labelsOf, payloadOf } from './define-steps.ts'
import type { AskedRun, DagRunRecord, DagRuns, StartedFrom } from './runs.ts'
import { parseSteps, stepsText } from './steps-text.ts'

export interface RunStarterOptions {
  clock: Clock
  jobs: Pick<Jobs, 'require'>
  dags: Pick<Dags, 'readActive'>
  dagRuns: Pick<DagRuns, 'start'>
}

interface Owner {
  tenant: string
  actor: string
}

const maxTries = 5

/**
 * With the labels and the deadline of the graph; what the run says of its own comes beside or before them. `started`: of one that an
 * execution starts, where it comes from.
 */
export async function startRun(
  options: RunStarterOptions,
  owner: Owner,
  dag: NamedDag['dag'],
  input: RunInput,
  once?: Once<DagRunRecord>,
  started?: (graph: DagRecord) => StartedFrom,
): Promise<DagRunRecord> {
  for (let tries = 1; ; tries++) {
    const graph = await options.dags.readActive({ tenant: owner.tenant, dag })
    const from = started?.(graph)
    const labels = labelsOf(input, graph.labels)
    const deadlineSec = input.deadlineSec ?? graph.deadlineSec
    const asked = await askedRun(options, owner, parseSteps(graph.steps), { ...input, labels })
    try {
      return await options.dagRuns.start(
        owner,
        { ...asked, dag: graph, name: graph.name, deadlineSec, started: from },
        once,
      )
    } catch (error) {
      const changed = error instanceof CarillonError && error.code === 'STATE_CONFLICT'
      if (!changed || tries === maxTries) throw error
    }
  }
}

export async function startInlineRun(
  options: RunStarterOptions,
  owner: Owner,
  { steps, name, ...input }: InlineRunInput,
  once?: Once<DagRunRecord>,
): Promise<DagRunRecord> {
  const asked = await askedRun(options, owner, steps, input)
  const deadlineSec = input.deadlineSec ?? null
  return options.dagRuns.start(owner, { ...asked, dag: null, name: name ?? steps[0]!.name, deadlineSec }, once)
}

async function askedRun(
  { clock, jobs }: RunStarterOptions,
  { tenant }: Owner,
  steps: readonly DagStep[],
  { labels = {}, traceparent, payload }: RunInput,
): Promise<Omit<AskedRun, 'dag' | 'name' | 'deadlineSec'>> {
  const text = payloadOf({ payload })
  const defined = await defineSteps(steps, { tenant, labels, now: clock.now(), jobs })
  return {
    steps: defined,
    stepsText: stepsText(inOrder(steps).map(({ step }) => step)),
    payload: text,
    labels: Object.keys(labels).length > 0 ? labels : null,
    traceparent: traceparent ?? null,
  }
}
