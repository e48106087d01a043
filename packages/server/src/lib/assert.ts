/** A bug, not a request error and not passing trouble: something that must hold does not. */
export class Bug extends Error {
  override readonly name = 'Bug'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Bug(`Bug in Carillon: ${message}`)
}
