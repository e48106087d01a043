/** A Carillon on a copy of the template: nodes and workers as processes, and what the ledger says of their work. */
import { once } from 'node:events'
import pg from 'pg'
import { handlerNames } from '../work.ts'
import type { Children } from './children.ts'
import type { Installation, InstallationOptions, Ledger, NodeProcess } from './ground.ts'
import type { NodeProcessOptions, NodeProcessWord } from './node-process.ts'
import type { Server } from './server.ts'
import type { Template } from './template.ts'
import { startWorkers } from './workers.ts'

const ledgerSql = `
select count(*)::int total, count(*) filter (where state = 'SUCCEEDED')::int succeeded,
  count(*) filter (where state is null)::int unfinished,
  coalesce(sum(greatest(attempt - 1, 0) + releases), 0)::int "extraAttempts",
  carillon.ms(min(started_at))::float8 "firstStartedAt", carillon.ms(max(finished_at))::float8 "lastFinishedAt"
from carillon.executions where execution_id >= carillon.first_id($1::bigint)`

const stopsWithinMs = 20_000

interface Parts {
  server: Server
  children: Children
  template: Template
  checkout: URL
  name: string
}

export async function openInstallation(
  { server, children, template, checkout, name }: Parts,
  { nodes: nodeCount = 1, settings: ownSettings }: InstallationOptions,
): Promise<Installation> {
  const databaseUrl = await server.create(name, template.database)
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  pool.on('error', () => {})
  const nodes: NodeProcess[] = []
  const alive = () => nodes.filter(({ child }) => child.exitCode === null && child.signalCode === null)
  const ending: (() => Promise<unknown>)[] = []

  const installation: Installation = {
    databaseUrl,
    nodes,
    get urls() {
      return alive().map(({ url }) => url)
    },
    tenants: template.tenants,
    tokens: template.tokens,
    workerToken: template.workerToken,
    adminToken: template.adminToken,
    async startNode({ port, settings = ownSettings } = {}) {
      const options: NodeProcessOptions = { databaseUrl, port, settings }
      const { child, said } = await children.start<NodeProcessWord>(
        'node',
        new URL('bench/ground/node-process.ts', checkout),
        options,
      )
      const node = { child, ...said }
      nodes.push(node)
      return node
    },
    async stopNodes() {
      await Promise.all(
        alive().map(async ({ child }) => {
          const gone = once(child, 'exit')
          child.kill('SIGTERM')
          const timer = setTimeout(() => child.kill('SIGKILL'), stopsWithinMs)
          const [, signal] = await gone
          clearTimeout(timer)
          if (signal !== null) throw new Error(`a node did not stop within ${stopsWithinMs} ms`)
        }),
      )
    },
    async startWorkers(count, { handlers = handlerNames, pool = 'default', concurrency, record = false } = {}) {
      const workers = await startWorkers(children, checkout, count, {
        ...{ urls: installation.urls, token: template.workerToken },
        ...{ handlers, pool, concurrency, record },
      })
      ending.push(() => workers[Symbol.asyncDispose]())
      return workers
    },
    request: (what, body, token = template.adminToken) => request(installation.urls[0]!, what, { body, token }),
    query: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await pool.query<Row & pg.QueryResultRow>(text, values)).rows,
    async now() {
      const [row] = await installation.query<{ now: number }>('select carillon.ms(clock_timestamp())::float8 now')
      return row!.now
    },
    async ledger(since) {
      return (await installation.query<Ledger>(ledgerSql, [since]))[0]!
    },
    async unfinished() {
      const [row] = await installation.query<{ ready: number; running: number }>(
        `select (select count(*)::int from carillon.ready) ready, (select coalesce(sum(open), 0)::int from carillon.leases) running`,
      )
      return row!
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(ending.map((end) => end()))
      await Promise.all(nodes.map(({ child }) => children.end(child)))
      await pool.end()
      await server.drop(name)
    },
  }
  // A copy has the id of its template, by which Redis, etcd and Kafka would take them for the same.
  if (ownSettings !== undefined) {
    await installation.query('update carillon.installation set installation_id = gen_random_uuid()')
  }
  for (let i = 0; i < nodeCount; i++) await installation.startNode()
  return installation
}

async function request<Answer>(
  url: string,
  what: string,
  { body, token }: { body: unknown; token: string },
): Promise<Answer> {
  const [method, path] = what.split(' ') as [string, string]
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${what} was answered with ${answer.status}: ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as Answer
}
