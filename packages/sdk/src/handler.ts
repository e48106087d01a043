import { CarillonError, checkOptions, defaults, type ErrorDetail } from '@carillon/contract'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { encodeJson } from './json.ts'
import { checkName } from './names.ts'
import { pointerTo } from './pointer.ts'

/**
 * The contract of a handler, shared by those who enqueue and those who run it.
 *
 * `Input` is what is enqueued, `Payload` what the handler sees after its schema; `Returned` is what the handler returns,
 * `Result` what is kept. Where a schema transforms nothing the two of a pair are the same. `Needs` has the results of other steps
 * without which it cannot run, by their names; with any, it runs as a step of a graph only.
 */
export interface HandlerDefinition<
  Input = unknown,
  Payload = Input,
  Returned = unknown,
  Result = Returned,
  Needs = undefined,
> {
  readonly name: string
  readonly pool: string
  readonly payload?: StandardSchemaV1<Input, Payload>
  readonly result?: StandardSchemaV1<Returned, Result>
  readonly needs?: Needed<Needs>
}

/** The handlers whose results are needed, by the names of their steps. */
export type Needed<Needs> = {
  readonly [Step in keyof Needs]: HandlerOf<unknown, unknown, unknown, Needs[Step], unknown>
}

/** A handler as it is enqueued and scheduled: its definition, or what `implementHandler` made of it. */
export type HandlerOf<Input, Payload, Returned, Result, Needs = undefined> =
  | HandlerDefinition<Input, Payload, Returned, Result, Needs>
  | { readonly definition: HandlerDefinition<Input, Payload, Returned, Result, Needs> }

/** The definition of either. Throws VALIDATION for anything else, such as the bare name of a handler. */
export function definitionOf<Input, Payload, Returned, Result, Needs = undefined>(
  handler: HandlerOf<Input, Payload, Returned, Result, Needs>,
): HandlerDefinition<Input, Payload, Returned, Result, Needs> {
  if (typeof handler === 'object' && handler !== null) {
    if ('definition' in handler) return definitionOf(handler.definition)
    if (typeof handler.name === 'string' && typeof handler.pool === 'string') return handler
  }
  const given: unknown = handler
  const [what, name] = typeof given === 'string' ? [`the text ${given}`, given] : [kindOf(given), 'greet']
  throw new CarillonError('VALIDATION', {
    message: `a handler is needed, not ${what}`,
    hint: `Define it once: const handler = defineHandler({ name: '${name}' })`,
  })
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null || value === undefined) return String(value)
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const handlerOptionNames = ['name', 'pool', 'payload', 'result', 'needs']

export interface HandlerOptions<Input, Payload, Returned, Result, Needs = undefined> {
  name: string
  /** The pool whose workers run it. */
  pool?: string
  /** Any Standard Schema (Zod, Valibot, ArkType, …). It sees the payload as it comes out of JSON. */
  payload?: StandardSchemaV1<Input, Payload>
  result?: StandardSchemaV1<Returned, Result>
  /** Steps of the same graph without whose results it cannot run: what runs them, by their names. See `defineDag`. */
  needs?: Needed<Needs>
}

/**
 * Defines a handler: its name, its pool, and the shape of its payload and result.
 *
 * @example
 * ```ts
 * import { defineHandler } from '@carillon/sdk'
 * import { z } from 'zod'
 *
 * export const sendEmail = defineHandler({
 *   name: 'send_email',
 *   pool: 'email-sender',
 *   payload: z.object({ to: z.email(), subject: z.string() }),
 * })
 *
 * // Without a schema the type can be given by hand; nothing checks it at run time.
 * export const cleanUp = defineHandler<{ olderThanDays: number }>({ name: 'clean_up' })
 * ```
 */
export function defineHandler<
  Input = unknown,
  Payload = Input,
  Returned = unknown,
  Result = Returned,
  Needs = undefined,
>(
  options: HandlerOptions<Input, Payload, Returned, Result, Needs>,
): HandlerDefinition<Input, Payload, Returned, Result, Needs> {
  checkOptions(options, handlerOptionNames)
  return Object.freeze({
    name: checkName('handler', options.name),
    pool: checkName('pool', options.pool ?? defaults.pool),
    ...(options.payload && { payload: options.payload }),
    ...(options.result && { result: options.result }),
    ...(options.needs && { needs: neededOf(options.needs) }),
  })
}

/**
 * In `needs`, for a step that runs `handler` once for each item of a list (`dag.each`): its result is the list of theirs, with null for an item
 * that failed.
 *
 * @example
 * ```ts
 * import { defineHandler, eachOf } from '@carillon/sdk'
 * import { z } from 'zod'
 *
 * const load = defineHandler({ name: 'load', payload: z.string(), result: z.number() })
 * // Its `ctx.dag.results.load` is a list of numbers and nulls.
 * const sum = defineHandler({ name: 'sum', needs: { load: eachOf(load) } })
 * ```
 */
export function eachOf<Input, Payload, Returned, Result, Needs>(
  handler: HandlerOf<Input, Payload, Returned, Result, Needs>,
): HandlerDefinition<null, null, (Result | null)[], (Result | null)[]> {
  const { name, pool } = definitionOf(handler)
  return Object.freeze({ name, pool })
}

function neededOf<Needs>(needs: Needed<Needs>): Needed<Needs> {
  for (const handler of Object.values(needs)) definitionOf(handler as HandlerOf<unknown, unknown, unknown, unknown>)
  return Object.freeze({ ...needs })
}

/**
 * JSON text of a payload that fits its handler; throws PAYLOAD_INVALID or PAYLOAD_TOO_LARGE otherwise. The schema is
 * asked about the payload as it comes out of JSON, so what passes here passes in the worker.
 *
 * @example
 * ```ts
 * import { defineHandler, validatePayload } from '@carillon/sdk'
 *
 * const greet = defineHandler<{ name: string }>({ name: 'greet' })
 * const text = await validatePayload(greet, { name: 'Ada' }) // '{"name":"Ada"}'
 * ```
 */
export async function validatePayload<Input>(
  definition: HandlerDefinition<Input, unknown, unknown, unknown, unknown>,
  value: NoInfer<Input>,
): Promise<string> {
  const text = encodeJson(value, 'payload')
  if (definition.payload !== undefined) {
    const checked = await definition.payload['~standard'].validate(JSON.parse(text))
    if (checked.issues) throw new CarillonError('PAYLOAD_INVALID', detailsOf(checked.issues, '/payload'))
  }
  return text
}

/** The same for many: without a schema, nothing is waited for. */
export async function validatePayloads<Input>(
  definition: HandlerDefinition<Input, unknown, unknown, unknown, unknown>,
  values: readonly NoInfer<Input>[],
): Promise<string[]> {
  if (definition.payload === undefined) return values.map((value) => encodeJson(value, 'payload'))
  return Promise.all(values.map((value) => validatePayload(definition, value)))
}

/** The issues of a schema in the words of our errors. */
export function detailsOf(issues: readonly StandardSchemaV1.Issue[], root: string): ErrorDetail[] {
  return issues.map((issue) => {
    const path = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
    return { pointer: root + pointerTo(path), message: issue.message }
  })
}
