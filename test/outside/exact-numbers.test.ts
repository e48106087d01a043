/** Numbers in payloads, results and progress come back as they were written, whichever way they came in. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { until } from '../support/until.ts'

/** With other people's numbers: Twitter ids, Ethereum amounts, decimals of banks, JSONTestSuite. */
const written =
  '{"id":9007199254740993,"wei":123456789012345678901234567890,"price":10.50,"zero":-0,"e":1E+2,"tiny":1e-7,' +
  '"pi":3.141592653589793238462643383279,"plain":[1,2.5,-3],"text":"12345678901234567890"}'
const json = { 'content-type': 'application/json' }
let node: HttpNode
let workerId: string

beforeAll(async () => {
  node = await httpNode({ targets: { allow: ['127.0.0.1'] } })
  const pools = [{ pool: 'default', handlers: ['h'], slots: 10 }]
  workerId = (await node.ask('POST /v1/workers', { name: 'w', pools })).body.workerId
})
afterAll(() => node?.[Symbol.asyncDispose]())

async function textOf(path: string): Promise<string> {
  return (await fetch(`${node.url}${path}`)).text()
}
async function send(what: string, text: string) {
  const { status, body } = await node.ask(what, text, json)
  expect(status, JSON.stringify(body)).toBeLessThan(300)
  return body
}
const cron = (payload: string) =>
  `{"type":"CRON","schedule":"0 3 1 1 *","target":{"handler":"h"}, "payload": ${payload} }`
const spaced = `  ${written.replaceAll(',', ' ,\n ').replaceAll(':', ' : ')}`

describe('a payload', () => {
  it('of POST, PUT, a batch and a trigger', async () => {
    const { jobId } = await send('POST /v1/jobs', cron(spaced))
    expect(await textOf(`/v1/jobs/${jobId}`)).toContain(`"payload":${written}`)
    await send(`PUT /v1/jobs/${jobId}`, cron(`[${written}]`))
    expect(await textOf(`/v1/jobs/${jobId}`)).toContain(`"payload":[${written}]`)
    const { executionId } = await send(`POST /v1/jobs/${jobId}/trigger`, `{"payload":${written}}`)
    expect(await textOf(`/v1/executions/${executionId}`)).toContain(`"payload":${written}`)
    const { items } = await send('POST /v1/jobs/batch', `{"jobs":[${cron('1')},${cron(written)}]}`)
    expect(await textOf(`/v1/jobs/${items[1].jobId}`)).toContain(`"payload":${written}`)
  })

  it('of PATCH: what is changed and what is left alone', async () => {
    const { jobId } = await send('POST /v1/jobs', cron('{"old":1.0,"gone":2.0,"deep":{"id":9007199254740993}}'))
    await send(`PATCH /v1/jobs/${jobId}`, '{"payload":{"new":12345678901234567890,"gone":null,"deep":{"more":1}}}')
    const after = '{"old":1.0,"deep":{"id":9007199254740993,"more":1},"new":12345678901234567890}'
    expect(await textOf(`/v1/jobs/${jobId}`)).toContain(`"payload":${after}`)
    await send(`PATCH /v1/jobs/${jobId}`, '{"priority":"LOW"}')
    expect(await textOf(`/v1/jobs/${jobId}`)).toContain(`"payload":${after}`)
  })
})

describe('a worker', () => {
  it('gets the payload, and its progress and result are kept', async () => {
    const { jobId } = await send('POST /v1/jobs', `{"type":"ONE_SHOT","target":{"handler":"h"},"payload":${written}}`)
    let lease = ''
    await until(async () => {
      const asked = { method: 'POST', headers: json, body: '{"pool":"default","slots":5,"waitMs":1000}' }
      lease = await (await fetch(`${node.url}/v1/workers/${workerId}/lease`, asked)).text()
      return lease.includes(jobId)
    })
    expect(lease).toContain(`"payload":${written}`)
    const { fence } = JSON.parse(lease).executions.find((each: { executionId: string }) => each.executionId === jobId)
    const held = `"executionId":"${jobId}","fence":${fence}`
    await send(`POST /v1/workers/${workerId}/report`, `{"progress":[{${held},"progress":{"done":1.0}}]}`)
    expect(await textOf(`/v1/executions/${jobId}`)).toContain('"progress":{"done":1.0}')
    await send(
      `POST /v1/workers/${workerId}/report`,
      `{"outcomes":[{"outcome":"SUCCEEDED",${held},"result":${spaced}}]}`,
    )
    expect(await textOf(`/v1/executions/${jobId}`)).toContain(`"result":${written}`)
  })
})

describe('an HTTP target', () => {
  let server: Server
  let received = ''
  beforeAll(async () => {
    server = createServer(async (request, answer) => {
      for await (const chunk of request) received += chunk
      answer.setHeader('content-type', 'application/json')
      answer.end(written)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => server.close())

  it('gets the payload, and its answer is kept', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const target = `{"http":{"url":"${url}"}}`
    const { jobId } = await send('POST /v1/jobs', `{"type":"ONE_SHOT","target":${target},"payload":${written}}`)
    const ended = await textOf(`/v1/executions/${jobId}?waitSec=60`)
    expect(received).toBe(written)
    expect(ended).toContain(`"result":{"status":200,"body":${written}}`)
  })
})
