/** The dashboard as a node serves it: to browsers and nobody else, under a strict policy, and never in the API's way. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Dashboard } from '../../../packages/server/src/http/dashboard.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'

let node: HttpNode
beforeAll(async () => {
  node = await httpNode({ auth: { jwtSecret: 'a secret of thirty-two characters, at least' } })
})
afterAll(() => node[Symbol.asyncDispose]())

const html = { accept: 'text/html,*/*;q=0.8' }

describe('the pages', () => {
  it('are served without a token, as HTML that loads nothing from elsewhere and runs nothing inline', async () => {
    const { status, headers, body } = await node.ask('GET /')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('content-security-policy')).not.toContain('unsafe')
    expect(headers.get('cache-control')).toBe('no-cache')
    expect(body).not.toMatch(/<script(?![^>]* src="\/)|<style|https?:\/\//)
  })

  it.each(['/jobs', '/jobs/0190a3c5-0000-7000-8000-000000000000', '/executions?state=DEAD'])(
    '%s is the page, to a browser that was given the address',
    async (path) => {
      expect((await node.ask(`GET ${path}`, undefined, html)).body).toContain('<div id="root">')
    },
  )

  it('have scripts and styles that are cached for ever, and are smaller on the way', async () => {
    const { body } = await node.ask('GET /')
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(body)![1]!
    const answer = await fetch(node.url + script, { headers: { 'accept-encoding': 'br' } })
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(answer.headers.get('content-encoding')).toBe('br')
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    const plain = await (await fetch(node.url + script, { headers: { 'accept-encoding': 'identity' } })).text()
    expect(await answer.text()).toBe(plain)
  })
})

describe('what is no page', () => {
  it.each([
    ['/v1/nothing', html],
    ['/v1/jobs', html],
    ['/assets/gone.js', html],
    ['/jobs', { accept: 'application/json' }],
    ['/../package.json', {}],
    ['/assets/..%2f..%2fpackage.json', html],
  ])('%s %j is answered as before, by a problem document', async (path, headers) => {
    const { headers: answered, status } = await node.ask(`GET ${path}`, undefined, headers)
    expect([401, 404]).toContain(status)
    expect(answered.get('content-type')).toContain('application/problem+json')
  })

  it('POST /jobs is not, whatever is accepted', async () => {
    expect((await node.ask('POST /jobs', {}, html)).status).toBe(404)
  })
})

it('a checkout that was not built says what to run', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'carillon-dashboard-'))
  try {
    const page = await new Dashboard(join(empty, 'dist')).find('/', '', 'br')
    expect(brotliDecompressSync(page!.body).toString()).toContain('npm run prepare')
  } finally {
    rmSync(empty, { recursive: true })
  }
})
