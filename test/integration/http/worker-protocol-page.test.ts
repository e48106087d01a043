import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { httpNode } from '../../support/http-node.ts'

const hasTools = ['bash', 'curl', 'jq'].every((tool) => spawnSync(tool, ['--version']).status === 0)

// Written for a shell with curl and jq; where they are missing the page cannot be tried.
it.skipIf(!hasTools)('the commands of docs/worker-protocol.md do what they say', async () => {
  const page = await readFile(new URL('../../../docs/worker-protocol.md', import.meta.url), 'utf8')
  const script = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, code]) => code).join('\n')
  await using node = await httpNode({ engine: { ...quickTimes, workerLostMs: 30_000 } })
  const folder = await mkdtemp(join(tmpdir(), 'carillon-protocol-'))
  try {
    const env = { ...process.env, CARILLON_URL: node.url }
    const args = ['-euo', 'pipefail', '-c', script]
    const { stdout } = await promisify(execFile)('bash', args, { cwd: folder, env, timeout: 25_000 })
    expect(stdout).toContain('"payload": {\n    "name": "Ada"\n  }')
  } finally {
    await rm(folder, { recursive: true })
  }
  const { body } = await node.ask('GET /v1/executions?pool=by-hand')
  const ends = body.items.map((e: { state: string; result: unknown }) => [e.state, e.result])
  expect(ends.toReversed()).toEqual([
    ['SUCCEEDED', 'Hello Ada'],
    ['CANCELLED', null],
    ['DEAD', null],
  ])
})
