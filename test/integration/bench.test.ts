/** The benchmark itself: tiny forms go through, their document has its form, and nothing is left behind. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

const run = promisify(execFile)
const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-test-'))
})
afterAll(() => rm(folder, { recursive: true }))

function bench(...words: string[]) {
  return run(process.execPath, [main, ...words], { env: { ...process.env, TMPDIR: folder } })
}

it('measures, tells people and programs, and takes away what it made', { timeout: 90_000 }, async () => {
  const { stdout, stderr } = await bench('drain', '--quick', '--json', '--scale', '0.02')
  const lines = stdout.trim().split('\n')
  const document = JSON.parse(lines.at(-1)!)
  expect(Object.keys(document)).toEqual(['scenario', 'results', 'machine', 'commit'])
  expect(document).toMatchObject({
    scenario: 'drain',
    results: [
      {
        name: 'drain',
        value: expect.any(Number),
        unit: '/s',
        target: null,
        ok: null,
        detail: {
          rounds: 1,
          executions: 600,
          'cpu node µs': expect.any(Number),
          'cpu postgres µs': expect.any(Number),
        },
      },
    ],
    machine: { cores: expect.any(Number), node: process.version, postgres: expect.stringMatching(/^18/) },
    commit: expect.any(String),
  })
  expect(document.results[0].value).toBeGreaterThan(0)
  expect(lines[0]).toContain('proves nothing')
  expect(stderr).toContain('drain: round 1 of 1')
  expect(await readdir(folder)).toEqual([])
})

it('says what there is when it is asked for something else', async () => {
  const failed = await bench('everything').catch((error: { code: number; stderr: string }) => error)
  expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining('submit-bulk') })
})
