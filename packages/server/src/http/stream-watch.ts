/**
 * Watches an endless answer: checks every few seconds whether its caller may still have it (a token runs
 * out, a key is revoked), and whether the client reads. One that reads nothing for a minute is disconnected.
 */
import type { ServerResponse } from 'node:http'
import { CarillonError } from '@carillon/contract'

export interface StreamWatch {
  /** Throws what a request would be refused with. */
  mayGoOn: () => Promise<unknown>
  /** Ends the stream in order. */
  end: () => void
  everyMs?: number
  stalledMs?: number
}

export function watchStream(response: ServerResponse, watch: StreamWatch): void {
  const { mayGoOn, end, everyMs = 5_000, stalledMs = 60_000 } = watch
  // The client left before the answer began: `close` does not come again.
  if (response.closed) return
  let before = -1
  let stalled = 0
  const timer = setInterval(() => {
    const unsent = response.writableLength
    stalled = unsent > 0 && unsent === before ? stalled + everyMs : 0
    before = unsent
    if (stalled >= stalledMs) response.destroy()
    else mayGoOn().catch((error: unknown) => isRefusal(error) && end())
  }, everyMs)
  response.once('close', () => clearInterval(timer))
}

/** A transient failure to check is not a refusal. */
function isRefusal(error: unknown): boolean {
  return error instanceof CarillonError && (error.status === 401 || error.status === 403)
}
