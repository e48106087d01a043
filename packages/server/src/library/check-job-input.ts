/** A job as `createJob` takes it, by the checker of the HTTP API; instants may also be Dates or milliseconds. */
import { checkOptions, jobInputFields } from '@carillon/contract'
import { JobInput } from '@carillon/contract/api'
import { checker } from '../http/validation.ts'

const check = checker(JobInput, 'body')
const instants = ['runAt', 'anchor', 'startAt', 'endAt']

export function checkJobInput(input: object): void {
  checkOptions(input, [...jobInputFields, 'tenant'], { what: 'a job' })
  const wire: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    // What the payload may be, its encoding says.
    if (name === 'tenant' || name === 'payload' || value === undefined) continue
    wire[name] = instants.includes(name) ? textOf(value) : value
  }
  check(wire)
}

function textOf(value: unknown): unknown {
  if (typeof value !== 'number' && !(value instanceof Date)) return value
  const at = new Date(value)
  return Number.isNaN(at.getTime()) ? String(value) : at.toISOString()
}
