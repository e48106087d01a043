/** Milliseconds since 1970 and how the API writes them. Work that comes together has the same times: the last one is kept. */
let lastMs = Number.NaN
let lastText = ''

export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString()
    lastMs = ms
  }
  return lastText
}

/** The other way: of a text that `isoTime` wrote. */
export function isoMs(text: string): number {
  return text === lastText ? Math.floor(lastMs) : Date.parse(text)
}
