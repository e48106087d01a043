/**
 * Graphs of steps, written down in code. A step depends on steps that were added before it, so a cycle cannot be written; what
 * its handler needs of them is checked by the types, and again here for those who use none.
 */
import { CarillonError, checkOptions, type DagInput } from '@carillon/contract'
import { definitionOf, detailsOf, type HandlerDefinition, type HandlerOf } from './handler.ts'
import { encodeJson } from './json.ts'

type StepInput = DagInput['steps'][number]
type FanOut = 'forEach' | 'concurrency' | 'maxFailures'
type Policies = Omit<StepInput, 'name' | 'dependsOn' | 'runIf' | 'target' | 'payload' | 'waitFor' | FanOut>

/** A step of a graph, for the `after` of others: `Graph` is the graph's key, `Result` what its handler returns. */
export interface AddedStep<Graph extends string = string, Name extends string = string, Result = unknown> {
  readonly name: Name
  /** Only for the types. */
  readonly '~graph'?: Graph
  readonly '~result'?: Result
}

/** Where `after` lacks a step that the handler needs, or has it with another result, its type becomes this. */
export interface AfterLacks<Name> {
  readonly '~needs a step with the result it expects and the name': Name
}

type Missing<Graph extends string, Needs, After extends readonly unknown[]> = {
  [Name in keyof Needs & string]: [Extract<After[number], AddedStep<Graph, Name, Needs[Name]>>] extends [never]
    ? Name
    : never
}[keyof Needs & string]

type NeedsMet<Graph extends string, Needs, After extends readonly unknown[]> = [Needs] extends [object]
  ? {
      readonly after: [Missing<Graph, Needs, After>] extends [never]
        ? unknown
        : AfterLacks<Missing<Graph, Needs, After>>
      readonly runIf?: 'ALL_SUCCEEDED'
    }
  : unknown

/** What may be left out is null in the handler. */
type PayloadOption<Input> = null extends Input ? { readonly payload?: Input } : { readonly payload: Input }

/** `After`: steps of this graph that must have ended before. */
export type StepOptions<Graph extends string, Input, Needs, After extends readonly AddedStep<Graph>[]> = Policies &
  PayloadOption<Input> & {
    readonly after?: After
    /** Whether it runs, by how those have ended; one whose handler needs results runs only if all have SUCCEEDED. */
    readonly runIf?: StepInput['runIf']
  } & NeedsMet<Graph, Needs, After>

/** The members of a result, or of what is in it, that are lists of items. */
type ListIn<Result, Item> = Result extends readonly Item[]
  ? ''
  : { [Name in keyof Result & string]: Result[Name] extends readonly Item[] ? Name : never }[keyof Result & string]

/** `Of`: the step whose result has the list. */
export type EachOptions<Graph extends string, Item, Result> = Policies & {
  /** The step whose result is the list, or has it under `list`. It need not be named in `after` as well. */
  readonly of: AddedStep<Graph, string, Result>
  /** How many items may be ready or running at once. Left out: all. */
  readonly concurrency?: number
  /** The step has SUCCEEDED if at most so many items failed. Left out: none may. */
  readonly maxFailures?: number
  readonly after?: readonly AddedStep<Graph>[]
} & (Result extends readonly Item[] ? { readonly list?: undefined } : { readonly list: ListIn<Result, Item> })

type OptionsArgument<Options> = object extends Options ? [options?: Options] : [options: Options]

export type DagOptions<Graph extends string = string> = Omit<DagInput, 'steps' | 'key'> & { key?: Graph }

const dagOptionNames = ['key', 'name', 'labels', 'managedBy', 'deadlineSec']
const eachOptionNames = ['of', 'list', 'concurrency', 'maxFailures', 'after']
const graphOptionNames = [
  'payload',
  'after',
  'runIf',
  'when',
  'allowFailure',
  'labels',
  'priority',
  'timeoutSec',
  'deadlineSec',
  'limits',
]
const signalOptionNames = ['after', 'runIf', 'when', 'allowFailure', 'labels', 'priority', 'timeoutSec']
const stepOptionNames = [
  ...[
    'payload',
    'after',
    'runIf',
    'when',
    'allowFailure',
    'labels',
    'priority',
    'retryPolicy',
    'timeoutSec',
    'deadlineSec',
  ],
  ...['heartbeatTimeoutSec', 'startWithinSec', 'cancelGraceSec', 'unknownHandlerSec', 'delivery', 'limits'],
] as const satisfies (keyof Policies | 'payload' | 'after' | 'runIf')[]

/**
 * A graph of steps whose wiring the compiler checks. `build` gives what `client.dags.create` takes.
 *
 * @example
 * ```ts
 * import { createClient, defineDag, defineHandler } from '@carillon/sdk'
 * import { z } from 'zod'
 *
 * const rows = z.object({ rows: z.number() })
 * const extract = defineHandler({ name: 'extract', payload: z.object({ source: z.string() }), result: rows })
 * // Its `ctx.dag.results.extract` is what `extract` returns.
 * const load = defineHandler({ name: 'load', needs: { extract } })
 * const notify = defineHandler({ name: 'notify' })
 *
 * const nightly = defineDag({ key: 'nightly', deadlineSec: 7_200 })
 * const extracted = nightly.step('extract', extract, { payload: { source: 'orders' } })
 * const loaded = nightly.step('load', load, { after: [extracted], timeoutSec: 1_800 })
 * nightly.step('notify', notify, { after: [loaded], runIf: 'ALL_DONE' })
 *
 * const client = createClient({ urls: ['http://127.0.0.1:7171'] })
 * await client.dags.create(nightly.build())
 * ```
 */
export function defineDag<const Graph extends string = string>(options: DagOptions<Graph> = {}): DagBuilder<Graph> {
  return new DagBuilder(options)
}

export class DagBuilder<Graph extends string = string> {
  readonly #options: DagOptions<Graph>
  readonly #steps: StepInput[] = []
  readonly #added = new Map<string, AddedStep<Graph>>()

  /** Use `defineDag`. */
  constructor(options: DagOptions<Graph>) {
    checkOptions(options, dagOptionNames)
    this.#options = { ...options }
  }

  /** Adds a step. What comes back stands for it in the `after` of steps that depend on it. */
  step<
    const Name extends string,
    Input,
    Payload,
    Returned,
    Result,
    Needs,
    const After extends readonly AddedStep<Graph>[] = readonly [],
  >(
    name: Name,
    handler: HandlerOf<Input, Payload, Returned, Result, Needs>,
    ...[given]: OptionsArgument<StepOptions<Graph, Input, Needs, After>>
  ): AddedStep<Graph, Name, Result> {
    const options = (given ?? {}) as Policies & { payload?: unknown; after?: After; runIf?: StepInput['runIf'] }
    checkOptions(options, stepOptionNames)
    const { payload, after = [], ...policies } = options
    const definition = definitionOf(handler) as HandlerDefinition<unknown, unknown, unknown, unknown, unknown>
    const dependsOn = this.#namesOf(name, after)
    for (const needed of Object.keys(definition.needs ?? {})) {
      if (!dependsOn.includes(needed)) throw wrong(name, `needs the result of ${needed}, and is not after it`)
      if ((policies.runIf ?? 'ALL_SUCCEEDED') !== 'ALL_SUCCEEDED')
        throw wrong(name, `needs the result of ${needed}, so its runIf must be ALL_SUCCEEDED`)
    }
    return this.#add<Name, Result>({
      ...policies,
      name,
      target: { pool: definition.pool, handler: definition.name },
      ...(dependsOn.length > 0 && { dependsOn }),
      ...(payload !== undefined && { payload: payloadOf(definition, payload) }),
    })
  }

  /**
   * Adds a step that runs its handler once for each item of a list that another step returns; the item is the payload. Its result is the
   * list of theirs, in order, with null for an item that failed.
   *
   * @example
   * ```ts
   * import { defineDag, defineHandler } from '@carillon/sdk'
   * import { z } from 'zod'
   *
   * const find = defineHandler({ name: 'find', result: z.object({ files: z.array(z.string()) }) })
   * const load = defineHandler({ name: 'load', payload: z.string(), result: z.number() })
   * const imports = defineDag({ key: 'imports' })
   * const found = imports.step('find', find)
   * imports.each('load', load, { of: found, list: 'files', concurrency: 20, maxFailures: 5 })
   * ```
   */
  each<const Name extends string, Item, Payload, Returned, Result, List>(
    name: Name,
    handler: HandlerOf<Item, Payload, Returned, Result>,
    options: EachOptions<Graph, NoInfer<Item>, List>,
  ): AddedStep<Graph, Name, (Result | null)[]> {
    checkOptions(options, [...eachOptionNames, ...stepOptionNames.filter((each) => each !== 'payload')])
    const { of, list, after = [], ...more } = options as EachOptions<Graph, Item, Record<string, Item[]>>
    const definition = definitionOf(handler)
    const root = `results[${JSON.stringify(of.name)}]`
    return this.#add({
      ...more,
      name,
      target: { pool: definition.pool, handler: definition.name },
      dependsOn: this.#namesOf(name, [of, ...after]),
      forEach: list === undefined ? root : `${root}[${JSON.stringify(list)}]`,
    })
  }

  /** Adds a step that runs another graph, by its id or key, and waits for it. Its result has those of the last steps, by their names. */
  graph<const Name extends string>(
    name: Name,
    dag: string,
    options: Pick<Policies, 'when' | 'allowFailure' | 'labels' | 'priority' | 'timeoutSec' | 'deadlineSec'> & {
      /** What that run is given. Left out: what this step is given, `{ step, payload, results, states }`. */
      payload?: unknown
      after?: readonly AddedStep<Graph>[]
      runIf?: StepInput['runIf']
    } = {},
  ): AddedStep<Graph, Name, Record<string, unknown>> {
    checkOptions(options, graphOptionNames)
    const { after = [], payload, ...policies } = options
    const dependsOn = this.#namesOf(name, after)
    return this.#add({
      ...{ ...policies, name, target: { dag } },
      ...(dependsOn.length > 0 && { dependsOn }),
      ...(payload !== undefined && { payload: JSON.parse(encodeJson(payload, 'payload')) as unknown }),
    })
  }

  /** Adds a step that waits until it is signalled: `client.dagRuns.signal(runId, name, payload)`. Its result is that payload. */
  signal<const Name extends string>(
    name: Name,
    options: Pick<Policies, 'when' | 'allowFailure' | 'labels' | 'priority' | 'timeoutSec'> & {
      after?: readonly AddedStep<Graph>[]
      runIf?: StepInput['runIf']
    } = {},
  ): AddedStep<Graph, Name> {
    checkOptions(options, signalOptionNames)
    const { after = [], ...policies } = options
    const dependsOn = this.#namesOf(name, after)
    return this.#add({ ...policies, name, waitFor: 'SIGNAL', ...(dependsOn.length > 0 && { dependsOn }) })
  }

  /** Of the steps that `name` is after. */
  #namesOf(name: string, after: readonly AddedStep<Graph>[]): string[] {
    if (this.#added.has(name)) throw wrong(name, 'is the name of a step already')
    for (const step of after) {
      if (this.#added.get(step.name) !== step)
        throw wrong(name, `is after ${step.name}, which is no step of this graph`)
    }
    return [...new Set(after.map((step) => step.name))]
  }

  #add<const Name extends string, Result>(step: StepInput & { name: Name }): AddedStep<Graph, Name, Result> {
    this.#steps.push(step)
    const added: AddedStep<Graph, Name, Result> = Object.freeze({ name: step.name })
    this.#added.set(step.name, added)
    return added
  }

  /** The definition. For a run that brings its graph along: `client.dagRuns.start({ steps: dag.build().steps })`. */
  build(): DagInput {
    if (this.#steps.length === 0) throw new CarillonError('VALIDATION', 'the graph has no steps')
    return { ...this.#options, steps: [...this.#steps] }
  }
}

/** As `validatePayload`, but a schema that takes its time is asked in the worker only. */
function payloadOf({ payload: schema }: Pick<HandlerDefinition, 'payload'>, value: unknown): unknown {
  const payload: unknown = JSON.parse(encodeJson(value, 'payload'))
  const checked = schema?.['~standard'].validate(payload)
  if (checked === undefined || checked instanceof Promise || !checked.issues) return payload
  throw new CarillonError('PAYLOAD_INVALID', detailsOf(checked.issues, '/payload'))
}

function wrong(step: string, problem: string): CarillonError {
  return new CarillonError('VALIDATION', { pointer: '/steps', message: `step ${step} ${problem}` })
}
