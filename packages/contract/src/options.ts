/**
 * Unknown options are refused everywhere, with the option that was probably meant: HTTP bodies, library calls, the client,
 * workers and settings all ask here. A swallowed `tz` would be a job in UTC, a swallowed `delay` an immediate run.
 */
import { CarillonError, type ErrorCode, type ErrorDetail } from './errors.ts'
import { nearest } from './near.ts'
import { peerWords } from './peer-words.ts'

const mostListed = 40

/** The refusal of one unknown name. `parent` is the JSON pointer of the object that has it. */
export function unknownOption(name: string, known: readonly string[], parent = ''): ErrorDetail {
  return {
    pointer: `${parent}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
    message: `${name} is not known`,
    ...hintFor(name, known),
  }
}

/** Throws unless `given` is an object that has none but the known names. */
export function checkOptions(
  given: unknown,
  known: readonly string[],
  { pointer = '', what = 'options', code = 'VALIDATION' }: { pointer?: string; what?: string; code?: ErrorCode } = {},
): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const got = given === null ? 'null' : Array.isArray(given) ? 'an array' : typeof given
    throw new CarillonError(code, { pointer, message: `${what} must be an object, not ${got}` })
  }
  const unknown = Object.keys(given).filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  throw new CarillonError(
    code,
    unknown.map((name) => unknownOption(name, known, pointer)),
  )
}

function hintFor(name: string, known: readonly string[]): { hint?: string } {
  const near = nearest(name, known)
  if (near !== null) return { hint: `Did you mean ${near}?` }
  const word = peerWords[name]
  const use = word?.use?.find((path) => known.includes(path.split('.')[0]!))
  if (use !== undefined) return { hint: `Use ${use}${word?.how ? `: ${word.how}` : ''}` }
  if (word?.otherwise !== undefined) return { hint: word.otherwise }
  if (known.length === 0) return {}
  const listed = known.slice(0, mostListed).join(', ')
  return { hint: known.length > mostListed ? `Known are ${listed}, …` : `Known are ${listed}` }
}
