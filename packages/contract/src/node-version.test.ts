import { expect, test } from 'vitest'
import { nodeRefusal } from './node-version.ts'

test.each([
  ['22.19.0', true],
  ['22.20.1', true],
  ['24.0.0', true],
  ['22.18.9', false],
  ['20.19.0', false],
  ['18.20.8', false],
])('Node %s', (running, works) => {
  const refusal = nodeRefusal('@carillon/sdk', '22.19', running)
  expect(refusal).toBe(works ? null : `@carillon/sdk needs Node 22.19 or later; this is Node ${running}`)
})
