import type { HandlerContext } from '@carillon/sdk'
import { expect, it } from 'vitest'
import { executionHeaders } from './execution-headers.ts'
import { givenTo, stepFacts } from './given.ts'
import { context } from './http/http-target.test-support.ts'
import { clientContext } from './lambda/client-context.ts'

const runId = '01900000-0000-7000-8000-000000000001'
const step = { runId, step: 'load', itemIndex: null, payload: { day: 1 } }
const dag = { ...step, results: { extract: { rows: 3 } }, states: { extract: 'SUCCEEDED' as const } }
const item = { ...dag, step: 'load.7', itemIndex: 7, results: {}, states: {} }
const of = (more: Partial<HandlerContext>): HandlerContext => ({ ...context, ...more })

it('a step is given its payload; without one, its run and the results of the steps it depends on', () => {
  expect(givenTo(of({ payload: { text: 'done' }, dag }))).toEqual({ text: 'done' })
  const { itemIndex: _, ...given } = dag
  expect(givenTo(of({ dag }))).toEqual(given)
})

it('an item is given as it is, and what is no step has its payload only', () => {
  expect(givenTo(of({ payload: 'file 7', dag: item }))).toBe('file 7')
  expect(givenTo(of({ dag: item }))).toBeNull()
  expect(givenTo(of({}))).toBeNull()
})

it('the names of a step are in headers and in the client context', () => {
  expect(stepFacts(of({}))).toEqual({})
  expect(Object.keys(executionHeaders(of({})))).not.toContain('carillon-run-id')
  expect(executionHeaders(of({ dag }))).toMatchObject({ 'carillon-run-id': runId, 'carillon-step': 'load' })
  expect(executionHeaders(of({ dag: item }))).toMatchObject({ 'carillon-item-index': '7' })
  const { custom } = JSON.parse(Buffer.from(clientContext(of({ dag: item })), 'base64').toString())
  expect(custom).toMatchObject({ runId, step: 'load.7', itemIndex: '7' })
})
