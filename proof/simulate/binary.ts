/** Array parameters read back from PostgreSQL's binary form: see packages/server/src/store/arrays.ts. */

const headerBytes = 20

export function readUuids(array: unknown): string[] {
  return read(array, (bytes) => {
    const hex = bytes.toString('hex')
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  })
}

export function readNumbers(array: unknown): number[] {
  // Short ones are sent as they are.
  if (Array.isArray(array)) return array.map(Number)
  return read(array, (bytes) =>
    bytes.length === 8
      ? Number(bytes.readBigInt64BE())
      : bytes.length === 4
        ? bytes.readInt32BE()
        : bytes.readInt16BE(),
  )
}

/** Of arrays without nulls. */
function read<T>(array: unknown, element: (bytes: Buffer) => T): T[] {
  if (!Buffer.isBuffer(array) || array.length < headerBytes) return []
  const elements: T[] = []
  for (let at = headerBytes; at < array.length; ) {
    const length = array.readInt32BE(at)
    elements.push(element(array.subarray(at + 4, at + 4 + length)))
    at += 4 + length
  }
  return elements
}
