/** A tenant whose HTTP targets never answer holds its own share of a node's slots, and nobody else's. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { until } from '../support/until.ts'

const concurrency = 8
let node: HttpNode
let silent: Server
let prompt: Server
let open = 0

async function listening(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

beforeAll(async () => {
  silent = await listening(createServer(() => open++))
  prompt = await listening(createServer((_, answer) => answer.end('"done"')))
  node = await httpNode({ targets: { allow: ['127.0.0.1'], concurrency } })
})
afterAll(async () => {
  silent?.closeAllConnections()
  silent?.close()
  prompt?.close()
  await node?.[Symbol.asyncDispose]()
})

function submit(tenant: string, server: Server, timeoutSec: number) {
  const body = { type: 'ONE_SHOT', target: { http: { url: urlOf(server) } }, timeoutSec }
  return node.ask('POST /v1/jobs', body, { 'carillon-tenant': tenant })
}

it('others go on while one tenant waits for a year', { timeout: 120_000 }, async () => {
  const stuck: string[] = []
  for (let i = 0; i < 40; i++) stuck.push((await submit('stuck', silent, 31_536_000)).body.jobId)
  await until(() => open >= concurrency / 2)
  for (const tenant of ['a', 'b', 'a', 'b', 'a']) {
    const { body } = await submit(tenant, prompt, 60)
    const path = `GET /v1/executions/${body.jobId}?waitSec=60`
    const ended = await node.ask(path, undefined, { 'carillon-tenant': tenant })
    expect(ended.body).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
  }
  expect(open).toBe(concurrency / 2)
  // What was beyond the share has used no attempt, and is still to come.
  const states = await Promise.all(
    stuck.map(
      async (id) => (await node.ask(`GET /v1/executions/${id}`, undefined, { 'carillon-tenant': 'stuck' })).body,
    ),
  )
  expect(states.filter(({ state }) => state === 'RUNNING').length).toBeLessThanOrEqual(concurrency)
  expect(states.every(({ state, attempt }) => attempt <= 1 && ['RUNNING', 'PENDING'].includes(state))).toBe(true)
})
