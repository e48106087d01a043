/** The handlers of the program under test, as they are, watched from outside. */
import { CarillonError } from '@carillon/contract'
import type { HandlerContext, RegisteredHandler } from '@carillon/sdk'
import type { Entry, RunLog } from './run-log.ts'

/** What a handler gets from `completeIn` when its worker dies there. Its transaction rolls back, as PostgreSQL would do it. */
export class WorkerCrashed extends Error {
  override readonly name = 'WorkerCrashed'
}

/** One in a thread or a process of its own cannot be watched: it is at work until its outcome is there. */
export function watched(
  handler: RegisteredHandler,
  log: RunLog,
  diesAtCommit: (entry: Entry) => boolean,
): RegisteredHandler {
  const { run } = handler
  if (run === undefined) return handler
  return {
    ...handler,
    run: async (ctx) => {
      const entry = log.entry(ctx)
      if (!entry) return run.call(handler, ctx)
      log.began(entry)
      try {
        return await run.call(handler, watchedContext(ctx, entry, log, diesAtCommit(entry)))
      } finally {
        log.active(entry)
      }
    },
  }
}

function watchedContext(ctx: HandlerContext, entry: Entry, log: RunLog, dies: boolean): HandlerContext {
  const look = () => {
    const { signal } = ctx
    if (!entry.looked) {
      entry.looked = true
      log.active(entry)
      signal.addEventListener('abort', () => log.aborted(entry), { once: true })
    }
    return signal
  }
  const die = async () => {
    throw new WorkerCrashed('the worker died before the commit')
  }
  return Object.defineProperties({} as HandlerContext, {
    ...Object.getOwnPropertyDescriptors(ctx),
    signal: { enumerable: true, get: look },
    ...(dies && { completeIn: { enumerable: true, value: die } }),
  })
}

/** By name, so that a test learns at once that it misspelt one. */
export function requireHandler(handlers: readonly RegisteredHandler[], name: string, pointer: string): void {
  if (handlers.some(({ definition }) => definition.name === name)) return
  const known = handlers.map(({ definition }) => definition.name)
  throw new CarillonError('VALIDATION', {
    pointer,
    message: `no handler ${name} was given to createTestCarillon`,
    hint: known.length > 0 ? `It has ${known.join(', ')}` : 'Give it in `handlers`',
  })
}

/** Of graphs, in requests that have steps. What is wrong with them otherwise is said by the request itself. */
export function requireStepHandlers(handlers: readonly RegisteredHandler[], input: { body?: unknown }): void {
  const { steps } = (input?.body ?? {}) as { steps?: unknown }
  if (!Array.isArray(steps)) return
  for (const [i, step] of steps.entries()) {
    const name: unknown = step?.target?.handler
    if (typeof name === 'string') requireHandler(handlers, name, `/steps/${i}/target/handler`)
  }
}
