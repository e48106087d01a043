/** Graphs of steps (DAGs) and their runs. A step is asked for as a submission is, and says which steps it waits for. */
import { type Static, Type } from 'typebox'
import { limits } from '../defaults.ts'
import { ranges } from '../ranges.ts'
import { awaited, dagRunStates, dagStates, executionStates, runConditions } from '../words.ts'
import { ExecutionError } from './execution.ts'
import { executionPolicy } from './job.ts'
import {
  Count,
  closed,
  Described,
  Instant,
  Integer,
  Json,
  Labels,
  Name,
  Nullable,
  Text,
  Traceparent,
  Uuid,
  Word,
} from './scalars.ts'
import { Target } from './target.ts'

/** How a step is named. Results are handed down under these names. */
export const StepName = Type.String({
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$',
  description: 'Names the step in its graph.',
  examples: ['extract'],
})

const { traceparent: _, ...stepPolicy } = executionPolicy

export const DagStep = Type.Object(
  {
    name: StepName,
    dependsOn: Type.Optional(
      Type.Array(StepName, {
        maxItems: limits.steps,
        uniqueItems: true,
        description: 'The steps that must have ended before; their results are given to the handler.',
      }),
    ),
    runIf: Type.Optional(
      Word(runConditions, {
        default: 'ALL_SUCCEEDED',
        description: 'Whether it runs, by how the steps it depends on have ended; otherwise it is SKIPPED.',
      }),
    ),
    when: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.conditionLength,
        description:
          'A condition on the results of those it depends on, in the Common Expression Language; if it does not hold, the step is ' +
          'SKIPPED (CONDITION_FALSE).',
        examples: ['results.extract.count > 0'],
      }),
    ),
    allowFailure: Type.Optional(
      Type.Boolean({ default: false, description: 'The run may SUCCEED although this step did not.' }),
    ),
    target: Type.Optional(Target),
    waitFor: Type.Optional(
      Word(awaited, {
        description:
          'Instead of a target: SIGNAL waits until the step is signalled, an approval or something that happened elsewhere, and at most ' +
          '`timeoutSec` (left out: 366 days). The payload of the signal is its result.',
      }),
    ),
    payload: Type.Optional(
      Described(Json, 'Given to the handler as it was written: any JSON value, at most 256 KiB and 96 levels deep.'),
    ),
    forEach: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.conditionLength,
        description:
          'A list, known when the step starts: `results.<step>` of a step it depends on, or `payload` of the run, and the way to the ' +
          'list in it. The target runs once for each item, at most 10,000, with the item as its payload; the result of the step is ' +
          'the list of their results, in order.',
        examples: ['results.find.files'],
      }),
    ),
    concurrency: Type.Optional(
      Integer(ranges.stepConcurrency, {
        description: 'With `forEach`: how many items may be ready or running at once. Left out: all.',
      }),
    ),
    maxFailures: Type.Optional(
      Integer(ranges.maxFailures, {
        default: 0,
        description:
          'With `forEach`: the step has SUCCEEDED if at most so many items failed. All items run in any case.',
      }),
    ),
    ...stepPolicy,
  },
  { ...closed, title: 'DagStep', description: 'One step of a graph: what it runs, and what it waits for.' },
)
export type DagStep = Static<typeof DagStep>

const steps = Type.Array(DagStep, {
  minItems: 1,
  maxItems: limits.steps,
  description: 'In any order; each names the steps it depends on.',
})

const deadline = Type.Optional(
  Integer(ranges.deadlineSec, {
    description: 'How many seconds a run may take; after that what is left is cancelled and the run FAILED (DEADLINE).',
  }),
)

export const DagInput = Type.Object(
  {
    name: Type.Optional(Described(Name, 'For people and lists. Left out: the key, else the name of its first step.')),
    key: Type.Optional(
      Described(Name, 'Names one graph of the tenant for good: creating it again changes that graph.'),
    ),
    managedBy: Type.Optional(Described(Name, 'The tool or file that owns the graph.')),
    labels: Type.Optional(Described(Labels, 'Names and texts to filter by; runs and their executions inherit them.')),
    deadlineSec: deadline,
    steps,
  },
  {
    ...closed,
    title: 'DagInput',
    description: 'A graph of steps without cycles.',
    examples: [
      {
        key: 'nightly',
        steps: [
          { name: 'extract', target: { handler: 'extract' } },
          { name: 'load', target: { handler: 'load' }, dependsOn: ['extract'] },
        ],
      },
    ],
  },
)
export type DagInput = Static<typeof DagInput>

export const Dag = Type.Object(
  {
    dagId: Uuid,
    key: Nullable(Text('The key it was created with, if any.')),
    name: Text('For people and lists.'),
    tenant: Text('The tenant it belongs to.'),
    managedBy: Nullable(Text('The tool or file that owns it, if any.')),
    labels: Type.Record(Type.String(), Type.String(), { description: 'Names and texts to filter by.' }),
    state: Word(dagStates, { description: 'DELETED: it takes no more runs; those it has go on.' }),
    version: Type.Integer({ description: 'Grows with every change of the definition; also the ETag.' }),
    deadlineSec: Nullable(Type.Integer({ description: 'How many seconds a run may take.' })),
    steps: Type.Array(DagStep, { description: 'As they were asked for.' }),
    createdAt: Described(Instant, 'When it was created.'),
    updatedAt: Described(Instant, 'When its definition or state last changed.'),
  },
  { ...closed, title: 'Dag', description: 'A graph of steps, of which runs are made.' },
)
export type Dag = Static<typeof Dag>

const runFields = {
  payload: Type.Optional(
    Described(Json, 'Given to every step beside its own: any JSON value, at most 256 KiB and 96 levels deep.'),
  ),
  labels: Type.Optional(Described(Labels, 'Beside those of the graph; steps inherit them.')),
  deadlineSec: deadline,
  traceparent: Type.Optional(Traceparent),
}

export const RunInput = Type.Object(runFields, {
  ...closed,
  title: 'RunInput',
  description: 'What a run of a graph is given.',
})
export type RunInput = Static<typeof RunInput>

export const InlineRunInput = Type.Object(
  {
    name: Type.Optional(Described(Name, 'For people and lists. Left out: the name of its first step.')),
    steps,
    ...runFields,
  },
  { ...closed, title: 'InlineRunInput', description: 'A run with a graph of its own.' },
)
export type InlineRunInput = Static<typeof InlineRunInput>

export const SignalInput = Type.Object(
  {
    payload: Type.Optional(
      Described(Json, 'The result of the step, as it was written; at most 256 KiB. Left out: null.'),
    ),
  },
  { ...closed, title: 'SignalInput', description: 'What a step that waits for a signal is told.' },
)
export type SignalInput = Static<typeof SignalInput>

/** Of an execution that has started a run, and waits for its end. */
export const StartedRun = Type.Object(
  {
    runId: Described(Uuid, 'The run.'),
    state: Word(dagRunStates, { description: 'Its state.' }),
    stepCount: Count('Its steps; of a fan-out, its items.'),
    doneCount: Count('Those that have ended.'),
    failedCount: Count('Those that failed and do not allow it.'),
  },
  { ...closed, title: 'StartedRun', description: 'A run that an execution has started.' },
)
export type StartedRun = Static<typeof StartedRun>

export const DagRunStep = Type.Object(
  {
    name: StepName,
    executionId: Described(Uuid, 'Its execution.'),
    handler: Text('The handler that runs it.'),
    dependsOn: Type.Array(StepName, { description: 'The steps it depends on.' }),
    state: Word(executionStates, { description: 'The state of its execution.' }),
    reason: Nullable(Text('Why it is in this state, as a stable word.', { examples: ['DEPENDENCY_FAILED'] })),
    waitFor: Nullable(Word(awaited, { description: 'What it waits for instead of running a target.' })),
    waitsFor: Count('Of the steps it depends on, how many have not ended.'),
    attempt: Type.Integer({ description: 'Attempts so far; 0 before the first.' }),
    startedAt: Nullable(Described(Instant, 'When its latest attempt started.')),
    finishedAt: Nullable(Described(Instant, 'When it reached its final state.')),
    error: Nullable(Described(ExecutionError, 'The error its latest attempt ended with.')),
    run: Nullable(Described(StartedRun, 'The run that it has started: of another graph, or of the items of its list.')),
  },
  { ...closed, title: 'DagRunStep', description: 'Where a step of a run is.' },
)
export type DagRunStep = Static<typeof DagRunStep>

const summary = {
  runId: Uuid,
  dagId: Nullable(Described(Uuid, 'Its graph; null if it came with the run.')),
  dagVersion: Nullable(Type.Integer({ description: 'The version of the graph when the run was created.' })),
  name: Text('For people and lists.'),
  tenant: Text('The tenant it belongs to.'),
  labels: Type.Record(Type.String(), Type.String(), { description: 'Names and texts to filter by.' }),
  state: Word(dagRunStates, { description: 'FAILED: a step ended DEAD or CANCELLED that does not allow failure.' }),
  paused: Type.Boolean({ description: 'Steps that become ready wait until it is resumed.' }),
  reason: Nullable(Text('Why it ended, as a stable word.', { examples: ['STEP_FAILED', 'DEADLINE', 'CANCELLED'] })),
  stepCount: Count('Its steps.'),
  doneCount: Count('Those that have ended.'),
  failedCount: Count('Those that failed and do not allow it: DEAD, CANCELLED, or not started in time.'),
  createdAt: Described(Instant, 'When it was created.'),
  finishedAt: Nullable(Described(Instant, 'When its last step had ended.')),
  deadlineAt: Nullable(Described(Instant, 'When what is left of it is cancelled.')),
  traceId: Nullable(Text('The trace it belongs to, from its `traceparent`.')),
  startedBy: Nullable(
    Described(Uuid, 'The execution that started it, a step of another run or one of a job, and that ends as it does.'),
  ),
  fanOut: Type.Boolean({ description: 'Its steps are the items of a list, numbered from 0.' }),
}

export const DagRunSummary = Type.Object(summary, {
  ...closed,
  title: 'DagRunSummary',
  description: 'A run of a graph, without its steps.',
})
export type DagRunSummary = Static<typeof DagRunSummary>

export const DagRun = Type.Object(
  {
    ...summary,
    payload: Described(Json, 'What the run was given, as it was written.'),
    steps: Type.Array(DagRunStep, { description: 'Each after those it depends on.' }),
  },
  { ...closed, title: 'DagRun', description: 'A run of a graph with its steps.' },
)
export type DagRun = Static<typeof DagRun>
