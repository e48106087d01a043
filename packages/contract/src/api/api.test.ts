import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { errorTable } from '../errors.ts'
import { scopes } from '../words.ts'
import { api, openApiDocument } from './index.ts'
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
    if (scope !== null) expect(scopes).toContain(scope)
    expect(Object.keys(answers).length).toBeGreaterThan(0)
    for (const code of errors) expect(errorTable).toHaveProperty(code)
  })
})

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const document = openApiDocument(api, { version: '0.1.0', auth: true })
    const { valid, errors } = await new Validator().validate(document as Record<string, unknown>)
    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
  })

  it('has every operation and refers only to what is there', () => {
    const text = JSON.stringify(openApiDocument(api, { version: '0.1.0', auth: true }))
    const document = JSON.parse(text) as {
      components: { schemas: object }
      paths: Record<string, Record<string, object>>
    }
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map((each) => (each as { operationId: string }).operationId),
    )
    expect(ids.sort()).toEqual(operations.map(([id]) => id).sort())
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      expect(document.components.schemas).toHaveProperty([name!])
    }
  })
})
