/** Who a remote worker may be, and for whom it works. */
import { silentLogger } from '@carillon/contract/process'
import { createClient, createWorker, defineHandler, implementHandler, type Worker } from '@carillon/sdk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { jwtSecret, token } from './auth-server.ts'

const who = (pool: string) => defineHandler<null>({ name: 'who', pool })
const scope = 'jobs:read jobs:write work'

let node: HttpNode
beforeAll(async () => {
  node = await httpNode({ engine: quickTimes, auth: { jwtSecret } })
})
afterAll(() => node[Symbol.asyncDispose]())

function workerFor(pool: string, given: string | (() => Promise<string>) | undefined): Worker {
  const handlers = [implementHandler(who(pool), (ctx) => ctx.tenant)]
  return createWorker({ urls: node.url, handlers, logger: silentLogger, drainSec: 1, ...(given && { token: given }) })
}

it('does not start without a token, nor without the scope', async () => {
  await expect(workerFor('a', undefined).start()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  await expect(workerFor('a', 'nonsense').start()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  await expect(workerFor('a', await token()).start()).rejects.toMatchObject({ code: 'SCOPE_MISSING' })
})

it('does not start for a pool of the installation; a name that another tenant has is free', async () => {
  await using first = workerFor('email', await token({ tenant: 'acme', scope }))
  await first.start()
  await using other = workerFor('email', await token({ tenant: 'other', scope }))
  await other.start()
  const platform = workerFor('default', await token({ tenant: 'other', scope }))
  await expect(platform.start()).rejects.toMatchObject({ code: 'POOL_NOT_YOURS' })
})

it('works for its tenant with a token that is made anew for every request', async () => {
  let made = 0
  await using worker = workerFor('fresh', () => token({ tenant: 'acme', scope, jti: `${++made}` }))
  await worker.start()
  await using client = createClient({ urls: node.url, token: await token({ tenant: 'acme', scope }) })
  const handle = await client.enqueue(who('fresh'), null)
  expect(await handle.result({ waitMs: 20_000 })).toBe('acme')
  expect(made).toBeGreaterThan(2)
})
