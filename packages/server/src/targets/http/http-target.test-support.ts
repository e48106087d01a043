/** An HTTP target run without a node around it: a real server, a context by hand. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { JsonText } from '@carillon/contract'
import type { HandlerContext } from '@carillon/sdk'
import { type TargetSettings, targetConfig } from '../../config/target-config.ts'
import { OperatorRules } from '../target-rules.ts'
import type { HttpResult } from './answer.ts'
import { checkedAgent, type Resolve } from './checked-agent.ts'
import type { HttpTarget } from './header-rules.ts'
import { HttpTargetRunner } from './http-target.ts'

export interface Received {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

export interface TestServer {
  url: string
  port: number
  received: Received[]
  [Symbol.asyncDispose](): Promise<void>
}

/** A server that answers as it is told, and remembers what it was asked. */
export async function testServer(
  answer: (request: Received, response: ServerResponse) => void,
  host = '127.0.0.1',
): Promise<TestServer> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const one = { method: request.method!, url: request.url!, headers: request.headers, body: await text(request) }
    received.push(one)
    answer(one, response)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface Trial {
  log: string[]
  run(target: HttpTarget, more?: Partial<HandlerContext>): Promise<HttpResult>
  [Symbol.asyncDispose](): Promise<void>
}

export function trial(settings: TargetSettings = {}, resolve?: Resolve): Trial {
  const config = targetConfig(settings)
  const rules = new OperatorRules(config)
  const dispatcher = checkedAgent(rules.urls.addresses, resolve)
  const tokens = { make: async (executionId: string, fence: number) => `token-for-${executionId}-${fence}` }
  const { secrets, signWith, maxRequestSec } = config
  const runner = new HttpTargetRunner({ rules, secrets, signWith, tokens, dispatcher, maxRequestSec })
  const log: string[] = []
  return {
    log,
    run: async (http, more) => {
      const result = await runner.run({ ...context, log: (line) => log.push(line), target: { http }, ...more })
      return result instanceof JsonText ? JSON.parse(result.text) : result
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  }
}

/** Of an execution that no node knows. */
export const context: HandlerContext = {
  payload: null,
  executionId: '018cc251-f400-7000-8000-000000000001',
  jobId: '018cc251-f400-7000-8000-000000000002',
  tenant: 'acme',
  attempt: 2,
  maxAttempts: 4,
  fence: 77,
  scheduledFor: new Date(Date.UTC(2030, 0, 1)),
  dueAt: new Date(Date.UTC(2030, 0, 1)),
  deadline: new Date(Date.UTC(2030, 0, 1)),
  signal: new AbortController().signal,
  cancelGraceSec: 10,
  lastProgress: null,
  labels: {},
  traceparent: null,
  target: null,
  dag: null,
  heartbeat() {},
  log() {},
  now: () => new Date(Date.now()),
  async completeIn() {},
}
