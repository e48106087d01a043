/** Whole numbers from 0 to 2^53, written in as few bytes as they need: seven bits a byte, the lowest first. */

export function writeVarints(numbers: readonly number[]): Buffer {
  const bytes: number[] = []
  for (const number of numbers) {
    let left = number
    while (left >= 128) {
      bytes.push((left % 128) + 128)
      left = Math.floor(left / 128)
    }
    bytes.push(left)
  }
  return Buffer.from(bytes)
}

/** What ends in the middle of a number ends before it. */
export function readVarints(bytes: Uint8Array): number[] {
  const numbers: number[] = []
  let number = 0
  let scale = 1
  // By index: an iterator takes several times as long.
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!
    if (byte < 128) {
      numbers.push(number + byte * scale)
      number = 0
      scale = 1
    } else {
      number += (byte - 128) * scale
      scale *= 128
    }
  }
  return numbers
}
