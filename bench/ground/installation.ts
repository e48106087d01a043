/** A Carillon on a copy of the template: nodes and workers as processes, and what the ledger says of their work. */
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

interface Parts {
  server: Server
  children: Children
  template: Template
  checkout: URL
  name: string
}

export async function openInstallation(
  { server, children, template, checkout, name }: Parts,
  { nodes: nodeCount = 1 }: InstallationOptions,
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
    async startNode({ port } = {}) {
      const options: NodeProcessOptions = { databaseUrl, port }
      const { child, said } = await children.start<NodeProcessWord>(
        'node',
        new URL('bench/ground/node-process.ts', checkout),
        options,
      )
      const node = { child, ...said }
      nodes.push(node)
      return node
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
