import type { Held, Invocation } from '../held.ts'
import type { Failure } from '../reporting/reported-error.ts'
import { type ContextHost, createContext } from './context.ts'
import type { RegisteredHandler } from './registered-handler.ts'

/** Where a handler's code runs. Exactly one method of `Settlement` is called for every execution, once. */
export interface Executor {
  /** Begins the handler. What is returned can stop it; null if nothing can. */
  invoke(held: Held, payload: unknown, settlement: Settlement): Invocation | null
  /** Ends whatever the executor keeps alive. */
  close(): Promise<void>
}

export interface Settlement {
  contextHost(held: Held): ContextHost
  returned(held: Held, value: unknown): void
  /** As `returned`, from where only JSON text can come. */
  returnedJson(held: Held, text: string | null): void
  failed(held: Held, failure: Failure): void
  threw(held: Held, thrown: unknown): void
}

/** Isolation NONE: a call in this process. */
export class InProcessExecutor implements Executor {
  readonly #handler: RegisteredHandler

  constructor(handler: RegisteredHandler) {
    this.#handler = handler
  }

  invoke(held: Held, payload: unknown, settlement: Settlement): null {
    let returned: Promise<unknown>
    try {
      const ctx = createContext(held.execution, payload, settlement.contextHost(held))
      returned = Promise.resolve(this.#handler.run!(ctx))
    } catch (thrown) {
      settlement.threw(held, thrown)
      return null
    }
    returned.then(
      (value) => settlement.returned(held, value),
      (thrown: unknown) => settlement.threw(held, thrown),
    )
    return null
  }

  async close(): Promise<void> {}
}
