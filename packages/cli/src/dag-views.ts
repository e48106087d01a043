/** How graphs and their runs look, the same in every command. */
import type { Dag, DagRun, DagRunStep, DagRunSummary, DagStep } from '@carillon/contract'
import type { Context } from './context.ts'
import { type Column, printable } from './table.ts'
import { duration, relative, when } from './times.ts'
import { targetOf } from './views.ts'

type Shown = Pick<Context, 'out' | 'now'>

/** Deeper steps stand no further to the right: there would be no room left for their names. */
const deepest = 8

const marks: Record<DagRunStep['state'], string> = {
  ...{ BLOCKED: '·', PENDING: '○', RUNNING: '●', SUCCEEDED: '✓', DEAD: '✗', CANCELLED: '✗', SKIPPED: '-' },
  ...{ FAILED: '↻', TIMED_OUT: '↻', WORKER_LOST: '↻' },
}

const endStates = new Set<DagRunStep['state']>(['SUCCEEDED', 'DEAD', 'CANCELLED', 'SKIPPED'])

export function dagColumns({ out, now }: Shown): Column<Dag>[] {
  return [
    { header: 'ID', value: (dag) => dag.dagId },
    { header: 'KEY', value: (dag) => dag.key, flexible: true },
    { header: 'NAME', value: (dag) => dag.name, flexible: true, dispensable: 2 },
    { header: 'STATE', value: (dag) => dag.state, paint: (dag) => out.state(dag.state) },
    { header: 'VERSION', value: (dag) => dag.version, align: 'right' },
    { header: 'STEPS', value: (dag) => dag.steps.length, align: 'right' },
    { header: 'CHANGED', value: (dag) => relative(Date.parse(dag.updatedAt), now()), dispensable: 1 },
  ]
}

export function showDag({ out, now }: Shown, dag: Dag): void {
  out.record(dag, [
    ['graph', dag.dagId],
    ['key', dag.key],
    ['name', dag.name],
    ['tenant', dag.tenant],
    ['managed by', dag.managedBy],
    ['state', dag.state, out.state(dag.state)],
    ['version', dag.version],
    ['labels', labelsText(dag.labels)],
    ['deadline', dag.deadlineSec === null ? null : `${dag.deadlineSec} s`],
    ['changed', when(dag.updatedAt, now())],
  ])
  if (out.json) return
  out.line()
  const columns: Column<DagStep>[] = [
    { header: 'STEP', value: (step) => step.name, flexible: true },
    {
      header: 'TARGET',
      value: workOf,
      flexible: true,
    },
    { header: 'AFTER', value: (step) => step.dependsOn?.join(', ') || null, flexible: true },
    { header: 'RUN IF', value: (step) => step.runIf ?? 'ALL_SUCCEEDED', dispensable: 1 },
    { header: 'MAY FAIL', value: (step) => (step.allowFailure ? 'yes' : null), dispensable: 2 },
  ]
  out.table(dag.steps, columns, '')
}

function workOf({ target, waitFor, forEach }: DagStep): string {
  if (target === undefined) return `waits for a ${waitFor?.toLowerCase()}`
  return `${targetOf({ target })}${forEach === undefined ? '' : `, for each of ${forEach}`}`
}

export function runColumns({ out, now }: Shown): Column<DagRunSummary>[] {
  return [
    { header: 'ID', value: (run) => run.runId },
    { header: 'NAME', value: (run) => run.name, flexible: true },
    { header: 'STATE', value: stateText, paint: (run) => out.state(run.state) },
    { header: 'DONE', value: (run) => `${run.doneCount}/${run.stepCount}`, align: 'right' },
    { header: 'FAILED', value: (run) => run.failedCount || null, align: 'right', dispensable: 2 },
    { header: 'STARTED', value: (run) => relative(Date.parse(run.createdAt), now()) },
    { header: 'TOOK', value: (run) => tookText(run.createdAt, run.finishedAt), align: 'right', dispensable: 1 },
    { header: 'WHY', value: (run) => run.reason },
  ]
}

/** A run with its steps, each below those it depends on. */
export function showRun(context: Shown, run: DagRun): void {
  const { out, now } = context
  const version = run.dagVersion === null ? '' : ` version ${run.dagVersion}`
  out.record(run, [
    ['run', run.runId],
    ['name', run.name],
    ['graph', run.dagId && `${run.dagId}${version}`],
    ['started by', run.startedBy],
    ['state', stateText(run), out.state(run.state)],
    ['why', run.reason],
    ['done', `${run.doneCount} of ${run.stepCount}${run.failedCount > 0 ? `, ${run.failedCount} failed` : ''}`],
    ['started', when(run.createdAt, now())],
    ['finished', run.finishedAt && when(run.finishedAt, now())],
    ['took', tookText(run.createdAt, run.finishedAt)],
    ['deadline', run.deadlineAt && when(run.deadlineAt, now())],
    ['labels', labelsText(run.labels)],
    ['payload', run.payload === null ? null : JSON.stringify(run.payload)],
  ])
  if (out.json) return
  out.line()
  out.table(run.steps, stepColumns(context, run), '')
}

function stepColumns({ out, now }: Shown, run: DagRun): Column<DagRunStep>[] {
  const byName = new Map(run.steps.map((step) => [step.name, step]))
  const depths = depthsOf(run.steps)
  return [
    { header: ' ', value: (step) => marks[step.state], paint: (step) => out.state(step.state) },
    { header: 'STEP', value: (step) => indented(step.name, depths.get(step.name)!), flexible: true },
    { header: 'STATE', value: (step) => step.state, paint: (step) => out.state(step.state) },
    { header: 'TRY', value: (step) => step.attempt || null, align: 'right', dispensable: 2 },
    { header: 'TOOK', value: (step) => stepTook(step, now()), align: 'right', dispensable: 1 },
    { header: 'WHY', value: (step) => whyOfStep(step, run, byName), flexible: true },
    { header: 'EXECUTION', value: (step) => step.executionId, dispensable: 3 },
  ]
}

/** What happened to a step, in one line. */
export function stepLine({ now }: Pick<Shown, 'now'>, step: DagRunStep): string {
  const took = endStates.has(step.state) ? stepTook(step, now()) : null
  const parts = [`${marks[step.state]} ${step.name} ${step.state}`, took, errorText(step)]
  return printable(parts.filter(Boolean).join('  '))
}

export function stateText({ state, paused }: DagRunSummary): string {
  return paused && state === 'RUNNING' ? `${state}, paused` : state
}

/** How many steps are above each on its longest way to a root. */
function depthsOf(steps: readonly DagRunStep[]): Map<string, number> {
  const depths = new Map<string, number>()
  for (const { name, dependsOn } of steps) {
    depths.set(name, Math.max(0, ...dependsOn.map((above) => (depths.get(above) ?? 0) + 1)))
  }
  return depths
}

function indented(name: string, depth: number): string {
  return `${'  '.repeat(Math.min(depth, deepest))}${name}`
}

function whyOfStep(step: DagRunStep, run: DagRun, byName: ReadonlyMap<string, DagRunStep>): string | null {
  if (step.run !== null && step.state === 'RUNNING') return startedText(step.run)
  if (step.state !== 'BLOCKED') return errorText(step)
  const open = step.dependsOn.filter((name) => !endStates.has(byName.get(name)?.state ?? 'BLOCKED'))
  if (open.length > 0) return `waits for ${open.join(', ')}`
  return run.paused ? 'waits: the run is paused' : null
}

function startedText({ runId, doneCount, stepCount, failedCount }: NonNullable<DagRunStep['run']>): string {
  return `${doneCount} of ${stepCount} done${failedCount > 0 ? `, ${failedCount} failed` : ''}: run ${runId}`
}

function errorText({ reason, error }: DagRunStep): string | null {
  return [reason, error && `${error.name}: ${error.message}`].filter(Boolean).join('  ') || null
}

/** One that waits for its next attempt does not run meanwhile. */
function stepTook({ state, startedAt, finishedAt }: DagRunStep, now: number): string | null {
  if (startedAt === null || (finishedAt === null && state !== 'RUNNING')) return null
  return duration((finishedAt === null ? now : Date.parse(finishedAt)) - Date.parse(startedAt))
}

function tookText(from: string, to: string | null): string | null {
  return to === null ? null : duration(Date.parse(to) - Date.parse(from))
}

function labelsText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, text]) => `${name}=${text}`)
    .join(' ')
}
