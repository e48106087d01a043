/** Answers against the schemas of the contract: what a node sends must be what the contract says. */
import { type ApiOperation, api, type OperationId, published } from '@carillon/contract/api'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import type { Asked } from './http-node.ts'

const ajv = new Ajv({ allErrors: true, strict: false })
;(formats as unknown as (ajv: Ajv) => void)(ajv)
ajv.addFormat('well-formed', (text) => text.isWellFormed())

/** Throws unless the answer's status and body are those of the operation. */
export function fitsContract(operationId: OperationId, { status, body }: Asked): void {
  const { answers } = api[operationId] as ApiOperation
  const answer = answers[status]
  if (!answer) throw new Error(`${operationId} does not answer ${status}: ${JSON.stringify(body)}`)
  if (answer.schema && !ajv.validate(answer.schema, body)) throw new Error(ajv.errorsText(ajv.errors))
}

/** Throws unless the value is a message of the topic, which is named without its prefix. */
export function fitsTopic(name: keyof typeof published, value: unknown): void {
  if (!ajv.validate(published[name].value, value)) throw new Error(ajv.errorsText(ajv.errors))
}
