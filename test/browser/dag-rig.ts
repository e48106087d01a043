/** A node with a worker whose steps do what a test tells them, for the views of graphs. */
import { silentLogger } from '@carillon/contract/process'
import { type Client, createClient, createWorker, defineHandler, implementHandler } from '@carillon/sdk'
import type { ServeSettings } from '@carillon/server'
import { createApiKey } from '../../packages/server/src/administration/api-keys.ts'
import { promptTimes } from '../support/carillon.ts'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { until } from '../support/until.ts'
import { waitMs } from '../support/wait-ms.ts'

class DiskFull extends Error {
  override readonly name = 'DiskFull'
}

const step = defineHandler<unknown>({ name: 'step', pool: 'etl' })

export interface DagRig {
  node: HttpNode
  client: Client
  /** Steps that wait to be told, by name. */
  running(): string[]
  end(step: string): Promise<void>
  fail(step: string): Promise<void>
  aborted: string[]
  /** `extract`, `transform`, `load` and `load_search` behind it, and `notify` behind both; started. */
  start(): Promise<string>
  reach(runId: string, state: string): Promise<void>
  key(scopes: readonly ('jobs:read' | 'jobs:write' | 'work')[]): Promise<string>
  [Symbol.asyncDispose](): Promise<void>
}

const target = { handler: step.name, pool: 'etl' }
const retryPolicy = { maxAttempts: 1 }
export const graph = {
  key: 'nightly',
  name: 'Nightly load',
  labels: { team: 'data' },
  steps: [
    { name: 'extract', target, retryPolicy },
    { name: 'transform', target, retryPolicy, dependsOn: ['extract'] },
    { name: 'load', target, retryPolicy, dependsOn: ['transform'] },
    { name: 'load_search', target, retryPolicy, dependsOn: ['transform'] },
    { name: 'notify', target, retryPolicy, dependsOn: ['load', 'load_search'] },
  ],
}

export async function dagRig(settings: ServeSettings = {}): Promise<DagRig> {
  const node = await httpNode({ engine: promptTimes, ...settings })
  const keyOf = async (scopes: Parameters<DagRig['key']>[0]) =>
    (await createApiKey(node.databaseUrl, { name: scopes.join(' '), tenant: 'default', scopes: [...scopes] })).key
  const token = settings.auth ? { token: await keyOf(['jobs:read', 'jobs:write', 'work']) } : {}
  const client = createClient({ urls: node.url, ...token })
  const waiting = new Map<string, { resolve: (value: string) => void; reject: (error: Error) => void }>()
  const aborted: string[] = []
  const handler = implementHandler(step, (ctx) => {
    const name = ctx.dag!.step
    return new Promise((resolve, reject) => {
      waiting.set(name, { resolve, reject })
      ctx.signal.addEventListener('abort', () => {
        aborted.push(name)
        reject(ctx.signal.reason)
      })
    })
  })
  const worker = createWorker({
    ...{ urls: node.url, name: 'rig', handlers: [handler], logger: silentLogger, drainSec: 1, ...token },
  })
  await worker.start()
  const take = async (name: string) => {
    await until(() => waiting.has(name), waitMs)
    const told = waiting.get(name)!
    waiting.delete(name)
    return told
  }
  return {
    node,
    client,
    aborted,
    key: keyOf,
    running: () => [...waiting.keys()].sort(),
    end: async (name) => (await take(name)).resolve(`${name} is done`),
    fail: async (name) => (await take(name)).reject(new DiskFull('no space left')),
    async start() {
      await client.dags.create(graph)
      return (await client.dags.run(graph.key, { payload: { day: '2030-01-31' } })).runId
    },
    reach: (runId, state) => until(async () => (await client.dagRuns.get(runId))?.state === state, waitMs),
    async [Symbol.asyncDispose]() {
      for (const { resolve } of waiting.values()) resolve('over')
      await worker.stop()
      await client.close()
      await node[Symbol.asyncDispose]()
    },
  }
}
