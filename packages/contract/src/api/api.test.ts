import { describe, expect, it } from 'vitest'
import { errorTable } from '../errors.ts'
import { scopes } from '../words.ts'
import { api } from './index.ts'
import type { ApiOperation } from './operation.ts'
import { apiPaths } from './paths.ts'

const operations = Object.entries(api) as [string, ApiOperation][]

describe('the API as data', () => {
  it('has the paths that clients know', () => {
    expect(apiPaths).toEqual(Object.fromEntries(operations.map(([id, { method, path }]) => [id, `${method} ${path}`])))
  })

  it('has no two operations at one address', () => {
    const addresses = operations.map(([, { method, path }]) => `${method} ${path.replace(/:\w+/g, ':')}`)
    expect(new Set(addresses).size).toBe(addresses.length)
  })

  it.each(operations)('%s says what it needs and what it answers', (_, { path, params, scope, answers, errors }) => {
    const named = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
    expect(Object.keys(params?.properties ?? {})).toEqual(named)
    if (scope !== null) expect([...scopes, 'any']).toContain(scope)
    expect(Object.keys(answers).length).toBeGreaterThan(0)
    for (const code of errors) expect(errorTable).toHaveProperty(code)
  })
})
