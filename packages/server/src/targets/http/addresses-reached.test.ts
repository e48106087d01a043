/** What is connected to is what was checked: names that change their mind, redirects, every notation. */
import { PermanentError } from '@carillon/sdk'
import { describe, expect, it } from 'vitest'
import { TargetFailed } from '../target-failed.ts'
import type { Resolve } from './checked-agent.ts'
import { testServer, trial } from './http-target.test-support.ts'

const inside = () => testServer((_, response) => response.end('a secret of the inside'))

/** Answers each question with the next of `answers`, the last one for ever. */
function names(...answers: string[][]): { resolve: Resolve; asked: string[] } {
  const asked: string[] = []
  const resolve: Resolve = (host, _, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)]!
    asked.push(host)
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return { resolve, asked }
}

describe('a name', () => {
  it.each([
    ['127.0.0.1'],
    ['10.0.0.8'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['64:ff9b::7f00:1'],
    ['fe80::1%lo'],
    // One that may be reached does not cover up for one that may not.
    ['93.184.216.34', '127.0.0.1'],
  ])('that resolves to %s is not connected to, and may be mended', async (...addresses) => {
    await using server = await inside()
    const { resolve } = names(addresses)
    await using http = trial({}, resolve)
    const failed = await http.run({ url: `http://rebind.example:${server.port}/` }).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(TargetFailed)
    expect((failed as Error).message).toMatch(/^rebind\.example resolves to .+: the operator does not allow it$/)
    expect(server.received).toEqual([])
  })

  it('is resolved once: another answer a moment later is never asked for', async () => {
    await using server = await inside()
    // The first answer is allowed and leads to the server; a second lookup would lead elsewhere.
    const { resolve, asked } = names(['127.0.0.1'], ['127.0.0.2'])
    await using http = trial({ allow: ['127.0.0.1'] }, resolve)
    expect(await http.run({ url: `http://rebind.example:${server.port}/` })).toMatchObject({ status: 200 })
    expect(asked).toEqual(['rebind.example'])
  })

  it('that turns to the inside at the second request is refused then', async () => {
    await using server = await testServer((_, response) => response.setHeader('connection', 'close').end())
    const { resolve, asked } = names(['127.0.0.1'], ['127.0.0.2'])
    await using http = trial({ allow: ['127.0.0.1'] }, resolve)
    const url = `http://rebind.example:${server.port}/`
    await http.run({ url })
    await expect(http.run({ url })).rejects.toThrow('rebind.example resolves to 127.0.0.2, which is loopback')
    expect([asked.length, server.received.length]).toEqual([2, 1])
  })

  it('is connected to over any of its addresses, as the operator allows', async () => {
    await using server = await inside()
    await using http = trial({ allow: ['hooks.internal'] }, names(['::1', '127.0.0.1']).resolve)
    expect(await http.run({ url: `http://hooks.internal:${server.port}/` })).toMatchObject({ status: 200 })
  })

  it('that is unknown is a failure that may pass', async () => {
    const resolve: Resolve = (_, _options, callback) => callback(Object.assign(new Error(), { code: 'ENOTFOUND' }), [])
    await using http = trial({}, resolve)
    await expect(http.run({ url: 'http://nowhere.example/' })).rejects.toEqual(
      new TargetFailed('no answer from http://nowhere.example (ENOTFOUND)'),
    )
    await using empty = trial({}, names([]).resolve)
    await expect(empty.run({ url: 'http://nowhere.example/' })).rejects.toThrow('ENOTFOUND')
  })
})

describe('a redirect', () => {
  const redirecting = (status: number, to: (url: string) => string) =>
    testServer(({ url }, response) => response.writeHead(status, { location: to(url) }).end())
  const own = { 'X-Own': 'mine' }

  it.each(['http://127.0.0.2', 'http://[::1]', 'http://2130706434', 'http://[::ffff:127.0.0.2]', 'http://localhost.'])(
    'to %s is refused',
    async (to) => {
      await using server = await redirecting(307, () => `${to}:9/`)
      await using http = trial({ allow: ['front.example'] }, names(['127.0.0.1'], ['127.0.0.2']).resolve)
      const failed = await http.run({ url: `http://front.example:${server.port}/` }).catch((error: unknown) => error)
      expect(failed).toBeInstanceOf(PermanentError)
      expect((failed as Error).message).toMatch(/leads to .+, an address that is loopback/)
    },
  )

  it('to a name that resolves to the inside is refused', async () => {
    await using secret = await inside()
    await using server = await redirecting(308, () => `http://innocent.example:${secret.port}/`)
    const { resolve } = names(['127.0.0.1'])
    await using http = trial({ allow: ['front.example'] }, resolve)
    const running = http.run({ url: `http://front.example:${server.port}/` })
    await expect(running).rejects.toThrow('innocent.example resolves to 127.0.0.1, which is loopback')
    expect(secret.received).toEqual([])
  })

  it('within the origin keeps method, body, headers and token', async () => {
    await using server = await testServer(({ url }, response) => {
      if (url === '/a') response.writeHead(307, { location: '/b' }).end()
      else response.end('done')
    })
    await using http = trial({ allow: ['127.0.0.1'] })
    const result = await http.run({ url: `${server.url}/a`, method: 'PUT', headers: own }, { payload: [1] })
    expect(result).toEqual({ status: 200, body: 'done' })
    const [first, second] = server.received
    expect(second).toEqual({ ...first, url: '/b' })
  })

  it('to another origin brings it neither the job’s headers nor signature nor token', async () => {
    process.env.TARGET_TEST_KEY = 'key'
    await using other = await testServer((_, response) => response.writeHead(202).end())
    await using server = await redirecting(308, () => `${other.url}/there`)
    await using http = trial({ allow: ['127.0.0.1'], secrets: ['env:TARGET_TEST_*'] })
    const signWith = [{ secretRef: 'env:TARGET_TEST_KEY' }]
    const running = http.run({ url: server.url, headers: own, signWith }, { payload: { a: 1 } })
    await expect(running).rejects.toThrow('which has no token to report with')
    expect(server.received[0]!.headers).toHaveProperty('webhook-signature')
    expect(other.received[0]).toMatchObject({ method: 'POST', url: '/there', body: '{"a":1}' })
    const told = Object.keys(other.received[0]!.headers)
    expect(told).toContain('carillon-execution-id')
    expect(told.filter((name) => /^(x-own|webhook-.*|carillon-token)$/.test(name))).toEqual([])
  })

  it('is followed three times', async () => {
    await using server = await redirecting(307, (url) => `/${Number(url.slice(1)) + 1}`)
    await using http = trial({ allow: ['127.0.0.1'] })
    await expect(http.run({ url: `${server.url}/0` })).rejects.toEqual(
      new PermanentError('the target redirects more than 3 times'),
    )
    expect(server.received.map(({ url }) => url)).toEqual(['/0', '/1', '/2', '/3'])
  })

  it.each([301, 302, 303])('by %s is a failure for good', async (status) => {
    await using server = await redirecting(status, () => '/elsewhere')
    await using http = trial({ allow: ['127.0.0.1'] })
    await expect(http.run({ url: server.url })).rejects.toBeInstanceOf(PermanentError)
    expect(server.received).toHaveLength(1)
  })

  it('to nowhere, or to what is no HTTP, is a failure for good', async () => {
    for (const location of ['', 'file:///etc/passwd', 'http://u:p@127.0.0.1/', 'http://[']) {
      await using server = await testServer((_, response) => {
        response.writeHead(307, location === '' ? {} : { location }).end()
      })
      await using http = trial({ allow: ['127.0.0.1'] })
      await expect(http.run({ url: server.url })).rejects.toThrow('redirects without saying where to')
    }
  })
})
