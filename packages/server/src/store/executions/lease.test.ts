import { expect, it } from 'vitest'
import { exactlyLeased, leasedExecutions } from './lease.ts'

const dag =
  '{"runId":"r","step":"load","payload":{"id":9007199254740993},"results":{"extract":[1.50,"n"],"check":null},"states":{"check":"DEAD"}}'
const step = `{"executionId":"e","handler":"h","fence":1,"scheduledFor":0,"dag":${dag}}`

it('gives what a run and its steps hand down as it was written, to handlers that write it again', () => {
  const [exact] = exactlyLeased(step)
  expect(JSON.stringify(exact!.dag)).toBe(dag)
})

it('gives it as values otherwise', () => {
  const [first, second] = leasedExecutions(`${step},${step.replace(/,"dag".*/, '}')}`)
  expect(first!.dag).toMatchObject({ results: { extract: [1.5, 'n'], check: null }, states: { check: 'DEAD' } })
  expect(second!.dag).toBeNull()
})
