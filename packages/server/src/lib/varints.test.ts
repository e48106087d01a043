import { expect, test } from 'vitest'
import { readVarints, writeVarints } from './varints.ts'

test('numbers come back as they were', () => {
  const numbers = [0, 1, 127, 128, 300, 2 ** 31, 2 ** 32 + 7, Number.MAX_SAFE_INTEGER, 0]
  expect(readVarints(writeVarints(numbers))).toEqual(numbers)
  expect(writeVarints([0, 127, 128])).toHaveLength(4)
})

test('what is cut is left out', () => {
  expect(readVarints(writeVarints([5, 300]).subarray(0, 2))).toEqual([5])
  expect(readVarints(new Uint8Array())).toEqual([])
})
