/** Findings of the doctor, one line each: status, and what to do about a problem. */
export type FindingStatus = 'OK' | 'WARN' | 'FAIL'

export interface Finding {
  check: string
  status: FindingStatus
  message: string
  /** What to do; none when all is well. */
  hint?: string
}

export function ok(check: string, message: string): Finding {
  return { check, status: 'OK', message }
}

export function warn(check: string, message: string, hint: string): Finding {
  return { check, status: 'WARN', message, hint }
}

export function fail(check: string, message: string, hint: string): Finding {
  return { check, status: 'FAIL', message, hint }
}
