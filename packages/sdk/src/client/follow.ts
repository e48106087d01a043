/** What an execution logs and how far it has come, as it comes, until it has ended. */
import { apiPaths, checkOptions, type LogEvent, type LogLine } from '@carillon/contract'
import type { Nodes } from '../http/nodes.ts'
import { resumed } from '../http/resumed.ts'

export interface FollowOptions {
  /** The number of the last line that is known: `position` of a line. Unless given: from the first line that is kept. */
  after?: number
  /** Ends it. */
  signal?: AbortSignal
}

const followOptionNames = ['after', 'signal']

const never = new AbortController().signal

export async function* followLogs(
  nodes: Nodes,
  executionId: string,
  options: FollowOptions,
): AsyncGenerator<LogEvent, void> {
  checkOptions(options, followOptionNames)
  const { after, signal = never } = options
  const path = apiPaths.getExecutionLogs.split(' ')[1]!.replace(':executionId', encodeURIComponent(executionId))
  const stream = resumed(nodes, { path: `${path}?follow=true`, last: after?.toString() ?? null, signal })
  for await (const { event, id, data } of stream) {
    if (data === null) continue
    if (event === 'line') yield { type: 'line', position: Number(id), ...(JSON.parse(data) as LogLine) }
    else if (event === 'progress') yield { type: 'progress', ...(JSON.parse(data) as { progress: unknown }) }
    else if (event === 'end') {
      yield { type: 'end', ...(JSON.parse(data) as Pick<Extract<LogEvent, { type: 'end' }>, 'state'>) }
      return
    }
  }
}
