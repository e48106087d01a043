/** The short form of `npm run schemathesis`: a few hundred requests, all checks. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run } from './tools.ts'

it('no check of schemathesis fails but for what is argued', { timeout: 600_000 }, async () => {
  const script = join(import.meta.dirname, '../fuzz/run.ts')
  const options = ['--requests', '300', '--examples', '5', '--phases', 'examples,fuzzing', '--seed', '1']
  expect(await run(process.execPath, [script, ...options])).toContain('passed, seed 1')
})
