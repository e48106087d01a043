/** What an execution logs, for a program that has the node inside, in the form the client gives it. */
import type { LogEvent } from '@carillon/contract'
import type { FollowOptions } from '@carillon/sdk'
import type { Engine } from '../main.ts'

type End = Extract<LogEvent, { type: 'end' }>

export async function* follow(
  { executions, logFeed }: Engine,
  { tenant, executionId }: { tenant: string; executionId: string },
  options: FollowOptions,
): AsyncGenerator<LogEvent, void> {
  await executions.read(tenant, executionId, { current: true })
  // A consumer that ends its iteration has gone.
  const gone = new AbortController()
  const signal = options.signal === undefined ? gone.signal : AbortSignal.any([gone.signal, options.signal])
  try {
    for await (const said of logFeed.follow({ tenant, executionId, after: options.after ?? 0, signal })) {
      if (said.kind === 'LINES') {
        yield* said.lines.map(({ position, line }): LogEvent => ({ type: 'line', position, ...line }))
      } else if (said.kind === 'PROGRESS') yield { type: 'progress', progress: JSON.parse(said.progress) }
      else if (said.kind === 'END') yield { type: 'end', state: said.state as End['state'] }
    }
  } finally {
    gone.abort()
  }
}
