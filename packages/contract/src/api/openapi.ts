/** The API as an OpenAPI 3.1 document. Schemas with a title become components, so that each is written once. */
import type { TSchema } from 'typebox'
import { type ErrorCode, errorTable } from '../errors.ts'
import { Problem } from '../schemas/problem.ts'
import type { Answer, ApiOperation } from './operation.ts'

/** What any operation may answer with; `caller` only where a token is needed. */
const common: ErrorCode[] = [
  ...(['VALIDATION', 'RATE_LIMITED', 'UNAVAILABLE', 'INTERNAL'] as const),
  ...(['REQUEST_TIMEOUT', 'HEADERS_TOO_LARGE'] as const),
]
const withBody: ErrorCode[] = ['BODY_MALFORMED', 'BODY_TOO_LARGE', 'MEDIA_TYPE_UNKNOWN']
const withToken: ErrorCode[] = ['UNAUTHENTICATED', 'SCOPE_MISSING', 'TENANT_NOT_YOURS']

export interface OpenApiOptions {
  version: string
  /** Whether tokens are asked for. */
  auth: boolean
}

export function openApiDocument(operations: Record<string, ApiOperation>, options: OpenApiOptions): object {
  const components = new Components()
  const paths: Record<string, Record<string, object>> = {}
  for (const [operationId, declared] of Object.entries(operations)) {
    const path = declared.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][declared.method.toLowerCase()] = describe(operationId, declared, components)
  }
  const security = options.auth ? { security: [{ token: [] }] } : {}
  return {
    openapi: '3.1.0',
    info: {
      title: 'Carillon',
      version: options.version,
      description: 'A distributed job scheduler. Errors are problem documents (RFC 9457) with a stable `code`.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    ...security,
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A JWT or an API key (`carillon tokens create`).' },
      },
    },
  }
}

function describe(operationId: string, declared: ApiOperation, components: Components): object {
  const { params, query, headers, body, scope, platform } = declared
  const responses: Record<string, object> = {}
  for (const [status, answer] of Object.entries(declared.answers)) responses[status] = response(answer, components)
  for (const [status, codes] of errorsByStatus(declared)) {
    responses[status] ??= {
      description: codes.map((code) => `${code}: ${errorTable[code].title}`).join('. '),
      content: { 'application/problem+json': { schema: components.refer(Problem) } },
    }
  }
  const bodyTypes = ['application/json', ...(declared.bodyTypes ?? [])]
  const parameters = [
    ...parametersOf('path', params, components),
    ...parametersOf('query', query, components),
    ...parametersOf('header', headers, components),
  ]
  return {
    operationId,
    tags: [declared.tag],
    summary: declared.summary,
    ...(declared.description && { description: declared.description }),
    ...(scope === null ? { security: [] } : scope === 'any' ? {} : { 'x-scope': scope }),
    ...(platform && { 'x-platform': true }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: !('~optional' in body),
        content: Object.fromEntries(bodyTypes.map((type) => [type, { schema: components.refer(body) }])),
      },
    }),
    responses,
  }
}

function errorsByStatus(declared: ApiOperation): [string, ErrorCode[]][] {
  const codes = new Set<ErrorCode>([
    ...declared.errors,
    ...(declared.scope === null ? [] : withToken),
    ...(declared.body ? withBody : []),
    ...common,
  ])
  return Object.entries(Object.groupBy(codes, (code) => String(errorTable[code].status))) as [string, ErrorCode[]][]
}

function response(answer: Answer, components: Components): object {
  const { description, schema, mediaType = 'application/json', links } = answer
  if (!schema && !answer.mediaType) return { description }
  const content = {
    [mediaType]: { schema: schema ? components.refer(schema) : { type: 'string' } },
    ...(answer.streams && { 'text/event-stream': { schema: { type: 'string' } } }),
  }
  return { description, content, ...(links && { links }) }
}

function parametersOf(
  where: 'path' | 'query' | 'header',
  object: TSchema | undefined,
  components: Components,
): object[] {
  if (!object) return []
  const { properties, required = [] } = object as unknown as {
    properties: Record<string, TSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = components.refer(schema) as { description?: string }
    const { default: usual } = schema as { default?: unknown }
    const declared = usual === undefined ? rest : { ...rest, default: usual }
    return { name, in: where, description, required: where === 'path' || required.includes(name), schema: declared }
  })
}

class Components {
  readonly schemas: Record<string, unknown> = {}

  /** The schema, with every titled one in it replaced by a reference. */
  refer(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((entry) => this.refer(entry))
    if (typeof schema !== 'object' || schema === null) return schema
    const plain = { ...schema } as Record<string, unknown>
    if (plain['~shown'] !== undefined) return this.refer(plain['~shown'])
    // Described for one place: a reference, with what it means there.
    if (plain['~of'] !== undefined) return { ...(this.refer(plain['~of']) as object), description: plain.description }
    const title = plain.title
    if (typeof title !== 'string') return this.#inside(plain)
    if (!(title in this.schemas)) {
      this.schemas[title] = {} // it may contain itself
      this.schemas[title] = this.#inside(plain)
    }
    return { $ref: `#/components/schemas/${title}` }
  }

  #inside(schema: Record<string, unknown>): Record<string, unknown> {
    const inner = this.#entries(schema)
    const { discriminator, oneOf } = inner as { discriminator?: object; oneOf?: { $ref: string }[] }
    return discriminator && oneOf
      ? { ...inner, discriminator: { ...discriminator, mapping: this.#mapping(schema, oneOf) } }
      : inner
  }

  /** From each word to the schema it stands for; the validator works it out for itself, and refuses to be told. */
  #mapping(schema: Record<string, unknown>, choices: { $ref: string }[]): Record<string, string> {
    const { propertyName } = schema.discriminator as { propertyName: string }
    const declared = schema.oneOf as { properties: Record<string, { const: string }> }[]
    return Object.fromEntries(choices.map(({ $ref }, i) => [declared[i]!.properties[propertyName]!.const, $ref]))
  }

  #entries(schema: Record<string, unknown>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(told(schema))
        .filter(([key]) => !key.startsWith('~'))
        .map(([key, value]) => {
          const verbatim = key === 'examples' || key === 'default' || key === 'enum' || key === 'const'
          if (verbatim || key === 'discriminator') return [key, value]
          if (key !== 'properties') return [key, this.refer(value)]
          const properties = Object.entries(value as Record<string, unknown>)
          return [key, Object.fromEntries(properties.map(([name, property]) => [name, this.refer(property)]))]
        }),
    )
  }
}

/**
 * Defaults are described in words. Generated clients take the keyword for something else: one makes the field required, another
 * sends it although the caller did not set it, and a ONE_SHOT with a misfire policy is no longer a submission.
 */
function told({ default: usual, ...schema }: Record<string, unknown>): Record<string, unknown> {
  if (usual === undefined) return schema
  return { ...schema, description: `${schema.description ?? ''} Default: \`${String(usual)}\`.`.trim() }
}
