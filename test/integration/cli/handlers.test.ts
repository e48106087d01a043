/** The user's handlers: loaded, loaded again when they change, and run for a node elsewhere. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ask, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { carillon, type Started, startCarillon } from './cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'carillon-dev-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const sdk = new URL('../../../packages/sdk/src/index.ts', import.meta.url)
const module = `
import { defineHandler, implementHandler } from '${sdk}'
import { word } from './word.ts'
export const saying = implementHandler(defineHandler({ name: 'say' }), () => word)
`
const file = (name: string) => join(folder, name)

describe('dev', () => {
  it('loads handlers again when what they import changes; a mistake leaves the last good ones', {
    timeout: 90_000,
  }, async () => {
    writeFileSync(file('handlers.ts'), module)
    writeFileSync(file('word.ts'), `export const word: string = 'one'`)
    const args = ['dev', '--data', file('data'), '--port', '0', '--handlers', file('handlers.ts')]
    const dev = startCarillon(args)
    const url = await printed(dev, /Listening on (\S+)/)
    await printed(dev, /Handlers: (say)/)
    expect(await said(url)).toBe('one')

    writeFileSync(file('word.ts'), `export const word: string = 'two'`)
    await printed(dev, /(Loaded again: say)/)
    await until(async () => (await said(url)) === 'two')

    writeFileSync(file('handlers.ts'), `${module}\nthis is no TypeScript`)
    await printed(dev, /(The handlers loaded before go on)/)
    expect(await said(url)).toBe('two')

    process.kill(-dev.child.pid!, 'SIGINT')
    expect(await dev.ended).toMatchObject({ exitCode: 0 })
    expect(() => process.kill(-dev.child.pid!, 0)).toThrow('ESRCH')
  })
})

describe('worker', () => {
  it('runs the handlers of a module for a node elsewhere, and leaves in order', async () => {
    writeFileSync(file('handlers.ts'), module)
    writeFileSync(file('word.ts'), `export const word: string = 'over there'`)
    const node = await httpNode()
    const worker = startCarillon(['worker', file('handlers.ts'), '--url', node.url, '--name', 'afar'])
    await printed(worker, /(Working for)/)
    expect(await said(node.url)).toBe('over there')
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ exitCode: 0 })
    const { items } = (await node.ask('GET /v1/workers')).body
    expect(items.map(({ name }: { name: string }) => name)).not.toContain('afar')
    await node[Symbol.asyncDispose]()
  })

  it('says when a module has no handlers', async () => {
    writeFileSync(file('empty.ts'), 'export const nothing = 1')
    const { exitCode, stderr } = await carillon(['worker', file('empty.ts')])
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('exports no handlers') })
  })
})

/** Waits for a line and answers what its first group matched. */
async function printed({ output }: Started, pattern: RegExp): Promise<string> {
  await until(() => pattern.test(output()), 40_000).catch(() => {
    throw new Error(`${pattern} was not printed:\n${output()}`)
  })
  return pattern.exec(output())![1]!
}

/** What the handler says now. */
async function said(url: string): Promise<unknown> {
  const { body } = await ask(url, 'POST /v1/jobs', { type: 'ONE_SHOT', target: { handler: 'say' } })
  return (await ask(url, `GET /v1/executions/${body.jobId}?waitSec=30`)).body.result
}
