import { CarillonError, checkOptions, type Isolation } from '@carillon/contract'
import { definitionOf, type HandlerDefinition } from '../../handler.ts'
import type { HandlerContext } from './context.ts'

/** A handler as a worker runs it: its definition and either a function of this process or a module to load elsewhere. */
export interface RegisteredHandler<Payload = unknown, Returned = unknown> {
  readonly definition: HandlerDefinition<unknown, Payload, Returned, unknown, unknown>
  /** How many of its executions run at the same time in this worker. */
  readonly concurrency?: number
  /** NONE runs `run` here; THREAD and PROCESS load `module` there and can be killed. */
  readonly isolation?: Isolation
  /** For NONE. Written as a method so that handlers of different payloads fit into one list. */
  run?(ctx: HandlerContext<Payload, Returned>): Returned | Promise<Returned>
  /** For THREAD and PROCESS: a module whose default export, or export named `handler`, is the function. */
  readonly module?: URL
  /** For THREAD and PROCESS: the heap one of them may use. */
  readonly memoryMb?: number
}

/** What `implementHandler` makes: it can be run by a worker, and enqueued and scheduled like its definition. */
export interface ImplementedHandler<Input, Payload, Returned, Result, Needs = undefined>
  extends RegisteredHandler<Payload, Returned> {
  readonly definition: HandlerDefinition<Input, Payload, Returned, Result, Needs>
}

export interface ImplementOptions {
  concurrency?: number
  isolation?: Isolation
  memoryMb?: number
}

const implementOptionNames = ['concurrency', 'isolation', 'memoryMb'] satisfies (keyof ImplementOptions)[]

/**
 * Joins a definition with the code that runs it, so that the context is typed by the definition.
 *
 * @example
 * ```ts
 * import { defineHandler, implementHandler } from '@carillon/sdk'
 *
 * const greet = defineHandler<{ name: string }>({ name: 'greet' })
 *
 * export const greeting = implementHandler(greet, async (ctx) => `Hello ${ctx.payload.name}`, { concurrency: 20 })
 *
 * // In a process of its own, killed if it does not stop when it should:
 * export const isolated = implementHandler(greet, new URL('./greet.js', import.meta.url), { isolation: 'PROCESS' })
 * ```
 */
export function implementHandler<Input, Payload, Returned, Result, Needs = undefined>(
  definition: HandlerDefinition<Input, Payload, Returned, Result, Needs>,
  code: ((ctx: HandlerContext<Payload, Returned, NoInfer<Needs>>) => Returned | Promise<Returned>) | URL,
  options: ImplementOptions = {},
): ImplementedHandler<Input, Payload, Returned, Result, Needs> {
  checkOptions(options, implementOptionNames)
  return checkHandler(
    code instanceof URL
      ? { definition: definitionOf(definition), isolation: 'THREAD', ...options, module: code }
      : { definition: definitionOf(definition), ...options, run: code as RegisteredHandler<Payload, Returned>['run'] },
  ) as ImplementedHandler<Input, Payload, Returned, Result, Needs>
}

/** Refuses a registration that could not work, where it is made rather than when the first execution comes. */
export function checkHandler<Payload, Returned>(
  handler: RegisteredHandler<Payload, Returned>,
): RegisteredHandler<Payload, Returned> {
  const { definition, concurrency = 10, isolation = 'NONE', memoryMb } = handler
  const refuse = (message: string): never => {
    throw new CarillonError('VALIDATION', { message: `Handler ${definition.name}: ${message}` })
  }
  if (!Number.isInteger(concurrency) || concurrency < 1) refuse(`concurrency must be 1 or more, not ${concurrency}`)
  if (isolation === 'NONE' && typeof handler.run !== 'function')
    refuse('its code is missing: give a function, or the URL of a module')
  if (isolation !== 'NONE' && handler.module === undefined) refuse(`isolation ${isolation} needs \`module\``)
  if (isolation !== 'NONE' && handler.run !== undefined) refuse(`isolation ${isolation} takes \`module\`, not \`run\``)
  if (memoryMb !== undefined && !(memoryMb >= 1)) refuse(`memoryMb must be 1 or more, not ${memoryMb}`)
  return handler
}
