import { PermanentError } from '@carillon/sdk'
import { expect, it } from 'vitest'
import { readExactly } from '../../lib/exact-json.ts'
import { withSecrets } from './body-secrets.ts'

it.each<[unknown, Record<string, string>, string]>([
  [{ a: 1 }, { '/token': 't' }, '{"a":1,"token":"t"}'],
  [null, { '/auth/token': 't' }, '{"auth":{"token":"t"}}'],
  [undefined, { '/token': 't' }, '{"token":"t"}'],
  [{ auth: { user: 'u', token: null } }, { '/auth/token': 't' }, '{"auth":{"user":"u","token":"t"}}'],
  [{ auth: null }, { '/auth/a': 'A', '/auth/b': 'B' }, '{"auth":{"a":"A","b":"B"}}'],
  [{}, { '/__proto__/x': 't', '/constructor': 'c' }, '{"__proto__":{"x":"t"},"constructor":"c"}'],
])('%j with %j is %s', (body, values, expected) => {
  expect(JSON.stringify(withSecrets(body, values))).toBe(expected)
})

it('changes nothing else, and not the payload itself', () => {
  const payload = readExactly('{"n":9007199254740993,"ref":{"secretRef":"env:PATH"}}')
  const text = JSON.stringify(payload)
  expect(JSON.stringify(withSecrets(payload, { '/ref2': 'x' }))).toBe(`${text.slice(0, -1)},"ref2":"x"}`)
  expect(JSON.stringify(payload)).toBe(text)
  expect(withSecrets(payload, {})).toBe(payload)
})

it.each<[unknown, string]>([
  ['a text', '/a'],
  [[1], '/0'],
  [{ a: 'text' }, '/a/b'],
  [{ a: [] }, '/a/b'],
  [readExactly('9007199254740993'), '/a'],
  [{ a: readExactly('1.0') }, '/a/b'],
])('%j has no member %s', (body, place) => {
  expect(() => withSecrets(body, { [place]: 's' })).toThrow(PermanentError)
  expect(() => withSecrets(body, { [place]: 's' })).toThrow(`no member ${place}`)
})
