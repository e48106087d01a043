import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { fieldsOfType, type JobType, jobTypes } from '../words.ts'
import { api, openApiDocument } from './index.ts'
import type { ApiOperation } from './operation.ts'

type Schema = Record<string, unknown>
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}
interface Operation {
  operationId: string
  parameters?: { name: string; in: string; description?: string }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { links?: Record<string, { operationId: string; parameters: Record<string, string> }> }>
}

const operations = Object.entries(api) as [string, ApiOperation][]
const text = JSON.stringify(openApiDocument(api, { version: '0.1.0', auth: true }))
const document = JSON.parse(text) as Document
const shown = Object.values(document.paths).flatMap((path) => Object.values(path))
const { schemas } = document.components

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(text) as Schema)
    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
  })

  it('has every operation and refers only to what is there', () => {
    expect(shown.map(({ operationId }) => operationId).sort()).toEqual(operations.map(([id]) => id).sort())
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) expect(schemas).toHaveProperty([name!])
  })

  it('describes every property, every parameter and every named schema', () => {
    const silent: string[] = []
    const described = (schema: Schema) =>
      typeof schema.description === 'string' ||
      (typeof schema.$ref === 'string' && typeof schemas[schema.$ref.split('/').pop()!]?.description === 'string')
    let properties = 0
    const look = (value: unknown, where: string): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [key, inner] of Object.entries(value)) {
        if (key === 'examples' || key === 'default') continue
        if (key === 'properties' && !where.endsWith('/properties')) {
          for (const [name, schema] of Object.entries(inner as Record<string, Schema>)) {
            properties++
            if (!described(schema)) silent.push(`${where}/${name}`)
          }
        }
        look(inner, `${where}/${key}`)
      }
    }
    look(document, '')
    for (const [name, schema] of Object.entries(schemas)) if (!described(schema)) silent.push(name)
    for (const { operationId, parameters = [] } of shown) {
      for (const { name, description } of parameters) if (!description) silent.push(`${operationId} ${name}`)
    }
    expect(silent).toEqual([])
    expect(properties).toBeGreaterThan(500)
  })

  it('says for every discriminator which word stands for which schema', () => {
    const choices: Schema[] = []
    JSON.stringify(document, (_, value) => {
      if (value?.discriminator) choices.push(value)
      return value
    })
    expect(choices.length).toBeGreaterThanOrEqual(5)
    for (const { discriminator, oneOf } of choices as { discriminator: Schema; oneOf: { $ref: string }[] }[]) {
      const { propertyName, mapping } = discriminator as { propertyName: string; mapping: Record<string, string> }
      expect(Object.values(mapping)).toEqual(oneOf.map(({ $ref }) => $ref))
      for (const [word, $ref] of Object.entries(mapping)) {
        const choice = schemas[$ref.split('/').pop()!] as { properties: Record<string, Schema>; required: string[] }
        expect(choice.properties[propertyName]).toMatchObject({ const: word })
        expect(choice.required).toContain(propertyName)
      }
    }
  })

  it('links only to operations that are there, by parameters they have and the answer holds', () => {
    let links = 0
    for (const { operationId, responses } of shown) {
      for (const [status, response] of Object.entries(responses)) {
        for (const link of Object.values(response.links ?? {})) {
          links++
          const target = api[link.operationId as keyof typeof api] as ApiOperation
          const { schema } = (api[operationId as keyof typeof api] as ApiOperation).answers[Number(status)]!
          for (const [parameter, place] of Object.entries(link.parameters)) {
            expect(target.params?.properties).toHaveProperty(parameter)
            expect((schema as unknown as { properties: Schema }).properties).toHaveProperty(place.split('#/')[1]!)
          }
        }
      }
    }
    expect(links).toBeGreaterThan(50)
  })
})

describe('bodies of jobs as the document shows them', () => {
  const ajv = new Ajv({ strict: false, discriminator: false })
  ;(formats as unknown as (ajv: Ajv) => void)(ajv)
  ajv.addFormat('well-formed', true)
  ajv.addSchema({ ...JSON.parse(text), $id: 'document' })
  const validatorOf = (name: string) => ajv.compile({ $ref: `document#/components/schemas/${name}` })
  const values: Record<string, unknown> = {
    runAt: '2030-01-31T08:00:00Z',
    delayMs: 5,
    schedule: '0 3 * * *',
    interval: 'PT15M',
    anchor: '2030-01-31T08:00:00Z',
    after: { job: 'nightly' },
  }
  const complete = (type: JobType): Schema => ({
    type,
    target: { handler: 'h' },
    ...Object.fromEntries(fieldsOfType[type].map((field) => [field, values[field]])),
  })

  it.each(['JobInput', 'JobReplacement', 'BatchJobInput'])(
    '%s takes the time fields of its type and no others',
    (name) => {
      const fits = validatorOf(name)
      for (const type of jobTypes) {
        expect(fits(complete(type)), JSON.stringify(fits.errors)).toBe(true)
        for (const field of Object.keys(values)) {
          expect(fits({ ...complete(type), [field]: values[field] })).toBe(fieldsOfType[type].includes(field))
        }
        expect(fits({ type, target: { handler: 'h' } })).toBe(type === 'ONE_SHOT')
      }
      expect(fits({ ...complete('CRON'), type: 'SOMETIMES' })).toBe(false)
    },
  )

  it('have dedupe only where it is taken', () => {
    const dedupe = { key: 'k' }
    for (const type of jobTypes) {
      const once = type === 'ONE_SHOT' || type === 'DELAYED'
      expect(validatorOf('JobInput')({ ...complete(type), dedupe })).toBe(once)
      expect(validatorOf('JobReplacement')({ ...complete(type), dedupe })).toBe(false)
      expect(validatorOf('BatchJobInput')({ ...complete(type), dedupe })).toBe(false)
      expect(validatorOf('BatchJobInput')({ ...complete(type), key: 'k' })).toBe(false)
    }
  })

  it('have exactly one kind of target', () => {
    const fits = validatorOf('JobInput')
    const http = { url: 'https://example.com/' }
    const withTarget = (target: object) => fits({ type: 'ONE_SHOT', target })
    expect(withTarget({ http })).toBe(true)
    expect(withTarget({ pool: 'p', handler: 'h' })).toBe(true)
    const kafka = { topic: 'orders', key: 'k', headers: { a: 'b' } }
    const lambda = { functionArn: 'arn:aws:lambda:eu-west-1:123456789012:function:f', invocationType: 'Event' }
    expect(withTarget({ kafka })).toBe(true)
    expect(withTarget({ lambda })).toBe(true)
    const two = [{ kafka, lambda }, { kafka, pool: 'p' }, { lambda, handler: 'h' }, { kafka: { ...kafka, url: 'x' } }]
    for (const wrong of [{}, { http, handler: 'h' }, { http, pool: 'p' }, { pool: 'p' }, ...two]) {
      expect(withTarget(wrong)).toBe(false)
    }
  })
})
