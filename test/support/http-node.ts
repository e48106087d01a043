/** A node that listens on a port of its own, on a database of its own, and a way to ask it. */
import { type ServedNode, type ServeSettings, serve } from '@carillon/server'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { createDatabase } from './postgres.ts'

export interface Asked {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the answer of a request, looked into by a test
  body: any
}

export interface HttpNode {
  url: string
  databaseUrl: string
  node: ServedNode
  /** `ask('POST /v1/jobs', body, headers)` */
  ask(what: string, body?: unknown, headers?: Record<string, string>): Promise<Asked>
  /** Another node on the same database; stopped with the first. */
  another(settings?: ServeSettings): Promise<ServedNode>
  [Symbol.asyncDispose](): Promise<void>
}

export async function httpNode(settings: ServeSettings = {}): Promise<HttpNode> {
  const database = await createDatabase()
  const nodes: ServedNode[] = []
  const another = async (more: ServeSettings = {}) => {
    const engine = { ...settings.engine, ...more.engine }
    const node = await serve(
      { databaseUrl: database.url, port: 0, ...settings, ...more, engine },
      createLogger('fatal'),
    )
    nodes.push(node)
    return node
  }
  const node = await another()
  return {
    url: node.url,
    databaseUrl: database.url,
    node,
    another,
    ask: (what, body, headers) => ask(node.url, what, body, headers),
    async [Symbol.asyncDispose]() {
      for (const each of nodes) await each.stop()
      await database.drop()
    },
  }
}

export async function ask(
  url: string,
  what: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Asked> {
  const [method, path] = what.split(' ') as [string, string]
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  const answer = await fetch(url + path, {
    method,
    headers: { ...json, ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.includes('json')
  return { status: answer.status, headers: answer.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
}
