/** A request against its operation, whichever way it came: over HTTP or in process. */
import { CarillonError } from '@carillon/contract'
import type { ApiOperation } from '@carillon/contract/api'
import { type Check, checker } from './validation.ts'

export interface RequestParts {
  params?: unknown
  query?: unknown
  headers?: unknown
  body?: unknown
}

const noQuery = { type: 'object', additionalProperties: false } as never

/** A function that throws VALIDATION unless every part fits. Texts of the query become numbers where those are meant. */
export function requestCheck(operation: ApiOperation): (request: RequestParts) => void {
  const { params, query, headers, body, roughBody } = operation
  const parts: [Check, (request: RequestParts) => unknown][] = []
  if (params) parts.push([checker(params, 'params'), (request) => request.params])
  parts.push([checker(query ?? noQuery, 'query'), (request) => request.query])
  if (headers) parts.push([checker(headers, 'headers'), (request) => request.headers])
  const checkBody = body && checker(roughBody ?? body, 'body')
  const mayBeEmpty = body !== undefined && '~optional' in body
  return (request) => {
    for (const [check, part] of parts) check(part(request))
    if (!checkBody || (mayBeEmpty && request.body === undefined)) return
    if (request.body === undefined) {
      throw new CarillonError('VALIDATION', { pointer: '', message: 'a body is required', hint: 'Send JSON' })
    }
    checkBody(request.body)
  }
}
