/** Who is asking: by a token, without one, in library mode. */
import { scopes } from '@carillon/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import manifest from '../../../packages/server/package.json' with { type: 'json' }
import { testCarillon } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { jwtSecret, token } from './auth-server.ts'

let guarded: HttpNode
let open: HttpNode

beforeAll(async () => {
  guarded = await httpNode({ auth: { jwtSecret }, engine: { nodeName: 'guarded' } })
  open = await httpNode({ engine: { nodeName: 'open' } })
})
afterAll(async () => {
  await guarded?.[Symbol.asyncDispose]()
  await open?.[Symbol.asyncDispose]()
})

const { version } = manifest
const me = async (claims: object, more: Record<string, string> = {}) =>
  guarded.ask('GET /v1/me', undefined, { authorization: `Bearer ${await token(claims as never)}`, ...more })

it('a tenant’s token: its tenant and its scopes', async () => {
  const { status, body } = await me({
    tenant: 'billing',
    sub: 'ada',
    scope: '',
    scopes: ['jobs:read', 'of-the-future'],
  })
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      ...{ name: 'user:ada', tenant: 'billing', scopes: ['jobs:read'], authentication: 'TOKEN' },
      node: { name: 'guarded', version },
    },
  })
})

it('a token without any scope is answered too', async () => {
  expect(await me({ tenant: 'billing', scope: '', scopes: [] })).toMatchObject({ status: 200, body: { scopes: [] } })
})

it('a platform token has no tenant of its own, whichever it acts for', async () => {
  const claims = { tenant: '*', scope: '', scopes: [...scopes] }
  expect((await me(claims, { 'carillon-tenant': 'billing' })).body).toMatchObject({ tenant: null, scopes })
})

it('without authentication everybody may do everything', async () => {
  expect((await open.ask('GET /v1/me')).body).toEqual({
    ...{ name: 'anonymous', tenant: null, scopes, authentication: 'NONE' },
    node: { name: 'open', version },
  })
})

it('in library mode it is the program', async () => {
  await using at = await testCarillon()
  expect(await at.carillon.installation.me()).toMatchObject({ name: 'library', scopes, authentication: 'NONE' })
})
