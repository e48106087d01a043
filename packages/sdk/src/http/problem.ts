/** Error answers as exceptions. A proxy between us and a node may answer too, in its own format. */
import { CarillonError, type ErrorCode, type ErrorDetail } from '@carillon/contract'

export interface RawAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

/** For answers that are no problem documents. */
const codeOf: Record<number, ErrorCode> = {
  401: 'UNAUTHENTICATED',
  403: 'SCOPE_MISSING',
  404: 'ROUTE_NOT_FOUND',
  408: 'REQUEST_TIMEOUT',
  413: 'BODY_TOO_LARGE',
  429: 'RATE_LIMITED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
}

const shownLength = 200

/** The error of an answer that is one. A code of a newer version than ours is kept as it is. */
export function problemError(url: string, answer: RawAnswer): CarillonError {
  const { status, headers, text } = answer
  const options = { status, ...retryAfter(headers['retry-after']) }
  const problem = problemIn(text)
  if (problem !== null) return new CarillonError(problem.code, problem.details, options)
  const start = text.trim().slice(0, shownLength)
  const message = `${url} answered ${status}${start === '' ? '' : `: ${start}`}`
  const hint = 'This is not how a Carillon node answers: is it the right address?'
  return new CarillonError(codeOf[status] ?? 'INTERNAL', { message, hint }, options)
}

function problemIn(text: string): { code: ErrorCode; details: string | ErrorDetail[] } | null {
  let document: { code?: unknown; detail?: unknown; errors?: unknown } | null
  try {
    document = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof document !== 'object' || document === null || typeof document.code !== 'string') return null
  const errors = Array.isArray(document.errors) ? document.errors.filter(isDetail) : []
  const details = errors.length > 0 ? errors : typeof document.detail === 'string' ? document.detail : []
  return { code: document.code as ErrorCode, details }
}

function isDetail(value: unknown): value is ErrorDetail {
  return typeof value === 'object' && value !== null && typeof (value as ErrorDetail).message === 'string'
}

function retryAfter(header: string | string[] | undefined): { retryAfterMs?: number } {
  const seconds = typeof header === 'string' && /^\d{1,9}$/.test(header.trim()) ? Number(header) : null
  return seconds === null ? {} : { retryAfterMs: seconds * 1_000 }
}
