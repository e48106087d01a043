import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode

beforeAll(async () => {
  node = await httpNode()
})
afterAll(() => node[Symbol.asyncDispose]())

describe('a node that listens', () => {
  it('says that it lives and that it can serve', async () => {
    expect(await node.ask('GET /healthz')).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await node.ask('GET /readyz')).toMatchObject({ status: 200, body: { checks: { database: 'ok' } } })
  })

  it('answers what it does not know with a problem', async () => {
    const { status, body, headers } = await node.ask('GET /nothing')
    expect(status).toBe(404)
    expect(headers.get('content-type')).toContain('application/problem+json')
    expect(body).toMatchObject({ code: 'ROUTE_NOT_FOUND', type: 'urn:carillon:error:ROUTE_NOT_FOUND' })
  })

  it('names the methods an address takes', async () => {
    const { status, body, headers } = await node.ask('DELETE /healthz')
    expect({ status, code: body.code, allow: headers.get('allow') }).toEqual({
      status: 405,
      code: 'METHOD_NOT_ALLOWED',
      allow: 'GET',
    })
  })

  it('refuses a query that it does not know', async () => {
    const { status, body } = await node.ask('GET /healthz?verbose=1')
    expect({ status, code: body.code, pointer: body.errors[0].pointer }).toEqual({
      status: 422,
      code: 'VALIDATION',
      pointer: '/verbose',
    })
  })
})
