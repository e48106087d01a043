let lastMs = Number.NaN
let lastText = ''

/** Milliseconds since 1970 as the API writes them. Work that comes together has the same times: the last one is kept. */
export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString()
    lastMs = ms
  }
  return lastText
}
