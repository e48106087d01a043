import { checkOptions, type Execution, type LogEvent } from '@carillon/contract'
import type { FollowOptions } from './follow.ts'

/** What can be seen of an execution that has ended, whichever way it was asked for. */
export type EndedExecution = Pick<Execution, 'executionId' | 'state' | 'reason' | 'error' | 'result'>

/** An execution did not succeed: how it ended is in `execution`. */
export class ExecutionFailed<View extends EndedExecution = EndedExecution> extends Error {
  override readonly name = 'ExecutionFailed'
  readonly execution: View

  constructor(execution: View) {
    const why = execution.error ? `${execution.error.name}: ${execution.error.message}` : (execution.reason ?? '')
    super(`Execution ${execution.executionId} is ${execution.state}${why ? ` (${why})` : ''}`)
    this.execution = execution
  }
}

/** What `enqueue` gives back. */
export class ExecutionHandle<Result, View extends EndedExecution = EndedExecution> {
  readonly executionId: string
  readonly #read: () => Promise<View | null>
  readonly #wait: (waitMs?: number) => Promise<boolean>
  readonly #follow: (options: FollowOptions) => AsyncGenerator<LogEvent, void>

  constructor(
    executionId: string,
    access: {
      read: () => Promise<View | null>
      wait: (waitMs?: number) => Promise<boolean>
      follow: (options: FollowOptions) => AsyncGenerator<LogEvent, void>
    },
  ) {
    this.executionId = executionId
    this.#read = access.read
    this.#wait = access.wait
    this.#follow = access.follow
  }

  /** The execution in its current state; null before a future one has fired, or after its history is gone. */
  execution(): Promise<View | null> {
    return this.#read()
  }

  /** The execution once it has ended, however it did. */
  async ended(options: { waitMs?: number } = {}): Promise<View> {
    checkOptions(options, ['waitMs'])
    if (!(await this.#wait(options.waitMs))) {
      throw new Error(`Execution ${this.executionId} has not ended within ${options.waitMs} ms; it goes on`)
    }
    return (await this.#read())!
  }

  /** What its handler logs and how far it has come, as it comes, until it has ended. */
  follow(options: FollowOptions = {}): AsyncGenerator<LogEvent, void> {
    return this.#follow(options)
  }

  /** What the handler returned. Throws ExecutionFailed if the execution ended in any other way. */
  async result(options: { waitMs?: number } = {}): Promise<Result> {
    const execution = await this.ended(options)
    if (execution.state !== 'SUCCEEDED') throw new ExecutionFailed(execution)
    return execution.result as Result
  }
}
