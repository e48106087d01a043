import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { httpNode } from './support/http-node.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

it('the example of the README does what it says', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const [, code] = /```ts\n(.*?)```/s.exec(readme)!
  const folder = await mkdtemp(join(tmpdir(), 'carillon-readme-'))
  // Beside the packages, so that their names are found.
  const file = join(root, 'test', `readme-example-${process.pid}.ts`)
  const dataDir = JSON.stringify(join(folder, 'data'))
  await writeFile(file, `${code!.replace("'./data'", dataDir)}\nawait carillon.stop()\n`)
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 60_000 })
    expect(stdout).toBe('{ sent: true }\n')
  } finally {
    await rm(file)
    await rm(folder, { recursive: true, force: true })
  }
}, 90_000)

it('the curl commands of the README work as they stand', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const [, commands] = /```sh\n(curl.*?)```/s.exec(readme)!
  await using node = await httpNode()
  const script = commands!.replaceAll('127.0.0.1:7171', new URL(node.url).host)
  const { stdout } = await promisify(execFile)('bash', [
    '-ec',
    script.replaceAll('curl -s', 'curl -sS --fail-with-body'),
  ])
  const answers = stdout.split(/(?<=\})(?=\{)/).map((text) => JSON.parse(text))
  expect(answers).toMatchObject([
    { name: 'batch-etl' },
    { name: 'daily-invoice-gen', state: 'ACTIVE', nextFireAt: expect.any(String), jobId: expect.any(String) },
    { items: [{ name: 'daily-invoice-gen' }], nextCursor: null },
    { fires: [{}, {}, {}] },
  ])
})
