import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

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
