/** An assertion: a failure is a bug, neither a request error nor transient trouble. */
export class Bug extends Error {
  override readonly name = 'Bug'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Bug(`Bug in Carillon: ${message}`)
}
