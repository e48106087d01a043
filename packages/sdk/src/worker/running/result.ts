import { CarillonError } from '@carillon/contract'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { detailsOf, type HandlerDefinition } from '../../handler.ts'
import { encodeJson } from '../../json.ts'
import { type Failure, failureOf, finalFailure } from '../reporting/reported-error.ts'

/** JSON text, null if the handler returned nothing, or why it is not a result. */
export type EncodedResult = string | null | Failure

/** What a handler returned as JSON text, through its result schema if it has one. Never throws nor rejects. */
export function encodeResult(
  definition: Omit<HandlerDefinition, 'needs'>,
  value: unknown,
): EncodedResult | Promise<EncodedResult> {
  const schema = definition.result
  if (schema === undefined) return encode(value)
  try {
    const checked = schema['~standard'].validate(value)
    return checked instanceof Promise ? checked.then(encodeChecked, failureOf) : encodeChecked(checked)
  } catch (thrown) {
    return failureOf(thrown)
  }
}

function encodeChecked(checked: StandardSchemaV1.Result<unknown>): EncodedResult {
  if (!checked.issues) return encode(checked.value)
  const problems = detailsOf(checked.issues, '').map(({ pointer, message }) => `${pointer || 'result'}: ${message}`)
  return finalFailure('RESULT_INVALID', problems.join('; '))
}

function encode(value: unknown): EncodedResult {
  if (value === undefined) return null
  try {
    return encodeJson(value, 'result')
  } catch (thrown) {
    return thrown instanceof CarillonError ? finalFailure(thrown.code, thrown.message) : failureOf(thrown)
  }
}
