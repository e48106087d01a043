/**
 * Clients that others generate from the node's OpenAPI document: they are made with the default settings of their generator,
 * must compile or import, and run the README's requests against a node.
 */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, httpNode } from '../support/http-node.ts'
import { clientTools, pythonTools, run } from './tools.ts'

const examples = join(import.meta.dirname, 'clients')
let node: HttpNode
let directory: string
let document: string

beforeAll(async () => {
  node = await httpNode()
  directory = await mkdtemp(join(clientTools, 'generated-')) // below node_modules, where openapi-fetch is found
  document = join(directory, 'openapi.json')
  await writeFile(document, JSON.stringify((await node.ask('GET /openapi.json')).body))
})

afterAll(async () => {
  await node?.[Symbol.asyncDispose]()
  if (directory) await rm(directory, { recursive: true, force: true })
})

describe('a generated client runs the README’s example', () => {
  it('in TypeScript, by openapi-typescript and openapi-fetch', { timeout: 300_000 }, async () => {
    const bin = (name: string) => join(clientTools, 'node_modules/.bin', name)
    await run(bin('openapi-typescript'), [document, '--output', join(directory, 'schema.d.ts')])
    await copyFile(join(examples, 'example.ts'), join(directory, 'example.ts'))
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node']
    await run(
      bin('tsc'),
      [...options, '--lib', 'es2023,dom,dom.iterable', '--allowImportingTsExtensions', 'example.ts'],
      {
        cwd: directory,
      },
    )
    const printed = await run(process.execPath, ['--experimental-strip-types', 'example.ts', node.url], {
      cwd: directory,
    })
    expect(printed.trim()).toBe('done for today')
  })

  it('in Python, by openapi-python-client', { timeout: 300_000 }, async () => {
    const made = join(directory, 'python')
    const generate = ['generate', '--path', document, '--output-path', made, '--fail-on-warning']
    await run(join(pythonTools, 'openapi-python-client'), generate)
    const printed = await run(join(pythonTools, 'python'), [join(examples, 'example.py'), node.url], {
      env: { PYTHONPATH: made },
    })
    expect(printed.trim()).toBe('done for today')
  })
})
