/** Errors as problem documents (RFC 9457). */
import { CarillonError, errorTable, type Problem } from '@carillon/contract'
import { isTransient, wasTooSlow } from '../store/trouble.ts'

export const problemType = 'application/problem+json'

export function problemOf(error: CarillonError, requestId?: string): Problem {
  const { code, errors } = error
  return {
    type: `urn:carillon:error:${code}`,
    title: errorTable[code].title,
    status: error.status,
    code,
    detail: error.message,
    ...(requestId && { instance: `urn:carillon:request:${requestId}` }),
    errors: errors.map(({ pointer, message, hint }) => ({
      ...(pointer !== undefined && { pointer }),
      message,
      ...(hint !== undefined && { hint }),
    })),
  }
}

/** Any thrown value as an error of the table. An unknown one is a bug, unless it is a transient database error. */
export function requestError(thrown: unknown): CarillonError {
  if (thrown instanceof CarillonError) return thrown
  const code = (thrown as { code?: unknown })?.code
  const translate = typeof code === 'string' ? ofFastify[code] : undefined
  if (translate) return translate()
  if (isTransient(thrown)) {
    const message = wasTooSlow(thrown)
      ? 'the database took too long: it is busy, or others hold what this needs'
      : 'the database cannot be reached now'
    return new CarillonError('UNAVAILABLE', { message, hint: 'Try again' }, { cause: thrown })
  }
  return new CarillonError(
    'INTERNAL',
    { message: 'the node could not answer', hint: 'See its log under the id of this request' },
    { cause: thrown },
  )
}

const ofFastify: Record<string, () => CarillonError> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new CarillonError('MEDIA_TYPE_UNKNOWN', {
      message: 'the body has a media type that is not known',
      hint: 'Send Content-Type: application/json',
    }),
  FST_ERR_BAD_URL: noAddress,
  FST_ERR_MAX_PARAM_LENGTH: noAddress,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new CarillonError('BODY_MALFORMED', { message: 'the body is not as long as Content-Length says' }),
}

function noAddress(): CarillonError {
  return new CarillonError('ROUTE_NOT_FOUND', {
    message: 'the address is too long or not well-formed',
    hint: 'Write what is no letter or digit as % and the two digits of each byte of its UTF-8 form',
  })
}
