/** Merge patches (RFC 7396): of an object what is left out stays and null removes, at every depth. */
import { type TSchema, Type } from 'typebox'
import { Nullable } from './scalars.ts'

type Properties = Record<string, TSchema>

/** What may be sent to change a value of the schema. What comes of it has to fit the schema itself. */
export function MergePatch<T>(schema: TSchema, title: string) {
  return Type.Unsafe<T>(patchOf({ ...schema, title }))
}

function patchOf(schema: object): TSchema {
  const { properties, patternProperties, required, title, examples: __, ...rest } = schema as Record<string, unknown>
  if (properties === undefined && patternProperties === undefined) return schema as TSchema
  return {
    ...rest,
    ...(typeof title === 'string' && { title: title.endsWith('Patch') ? title : `${title}Patch` }),
    ...(properties !== undefined && { properties: removable(properties as Properties, required as string[]) }),
    ...(patternProperties !== undefined && { patternProperties: removable(patternProperties as Properties) }),
  } as TSchema
}

/** A patch may change any field, whatever belongs together in the whole: it is not shown as a choice. */
function flat(schema: TSchema): TSchema {
  const { '~shown': _, '~of': __, ...rest } = schema as Record<string, unknown>
  return rest as TSchema
}

/** What must be there cannot be removed. */
function removable(properties: Properties, required: readonly string[] = []): Properties {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      required.includes(name) ? patchOf(flat(schema)) : Nullable(patchOf(flat(schema))),
    ]),
  )
}
