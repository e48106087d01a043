/** What a handler logged: at once, or as it comes. */
import { api } from '@carillon/contract/api'
import type { FollowedItem } from '../../../executions/log-feed.ts'
import { comeBackText, eventStreamHeaders } from '../../event-stream.ts'
import { ok, route } from '../../route.ts'

export const getExecutionLogs = route(api.getExecutionLogs, async (request, { executions, logFeed }) => {
  const { params, query, headers, caller, signal } = request
  const { tenant } = caller
  const executionId = params.executionId.toLowerCase()
  if (!query.follow) return ok({ executionId, ...(await executions.logs(tenant, executionId)) })
  await executions.read(tenant, executionId, { current: true })
  const told = logFeed.follow({ tenant, executionId, after: Number(headers['last-event-id'] ?? 0), signal })
  return { status: 200, headers: eventStreamHeaders, stream: written(told) }
})

async function* written(told: AsyncIterable<FollowedItem>): AsyncGenerator<string> {
  yield comeBackText
  for await (const said of told) yield textOf(said)
}

function textOf(said: FollowedItem): string {
  switch (said.kind) {
    case 'LINES':
      return said.lines
        .map(({ position, line }) => `id: ${position}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`)
        .join('')
    case 'PROGRESS':
      // JSON text as a worker wrote it may have line feeds between its tokens.
      return `event: progress\ndata: {"progress":${said.progress.replace(/[\r\n]+/g, ' ')}}\n\n`
    case 'END':
      return `event: end\ndata: ${JSON.stringify({ state: said.state })}\n\n`
    case 'NOTHING':
      return ': still here\n\n'
  }
}
