import { expect, it } from 'vitest'
import { newApiKey, parseApiKey } from './api-key.ts'

it('is known again by its id and the hash of its secret', () => {
  const { keyId, text, hash } = newApiKey()
  expect(parseApiKey(text)).toEqual({ keyId, hash })
  expect(hash).toHaveLength(32)
  expect(text).not.toContain(hash.toString('hex'))
})

it('is never the same twice', () => {
  const keys = Array.from({ length: 100 }, newApiKey)
  expect(new Set(keys.map(({ keyId }) => keyId)).size).toBe(100)
  expect(new Set(keys.map(({ text }) => text.split('_')[2])).size).toBe(100)
})

it.each([
  '',
  'crl_',
  'crl__',
  'crl_0123456789abcdef_',
  `crl_x_${'0'.repeat(64)}`,
  `crl_0123456789abcdef_${'0'.repeat(65)}`,
])('is not %j', (text) => {
  expect(parseApiKey(text)).toBeNull()
})
