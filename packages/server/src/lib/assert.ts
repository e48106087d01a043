/** A bug, not a request error: something that must hold does not. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Bug in Carillon: ${message}`)
}
