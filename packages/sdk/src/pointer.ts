/** A JSON pointer (RFC 6901) to the place a path leads to; empty for the whole value. */
export function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
