import { describe, expect, it } from 'vitest'
import { RedactedStream } from './redacted-stream.ts'
import { partsOfUrl, Redaction } from './redaction.ts'

it('takes secrets out, also as JSON writes them, and the part after the scheme', () => {
  const redaction = new Redaction(['Bearer abcdefgh"ij', 'k1k1'])
  expect(redaction.clean('a Bearer abcdefgh"ij b')).toBe('a [secret] b')
  expect(redaction.clean('{"t":"Bearer abcdefgh\\"ij"}')).toBe('{"t":"[secret]"}')
  expect(redaction.clean('token=abcdefgh"ij&k=k1k1')).toBe('token=[secret]&k=[secret]')
})

it('leaves texts alone that only hold what anything could', () => {
  expect(new Redaction(['abc', '']).clean('abc')).toBe('abc')
  expect(new Redaction(['Basic dXNlcjpwYXNz']).clean('Basic things')).toBe('Basic things')
  expect(new Redaction([]).clean('abc')).toBe('abc')
})

it('finds them as URLs, HTML and other writers of JSON have them, and in either case', () => {
  const redaction = new Redaction(['a/b+c&d<e>', 'Key.With*Signs'])
  for (const text of ['a/b+c&d<e>', 'a\\/b+c&d<e>', 'a%2Fb%2Bc%26d%3Ce%3E', 'a%2fb%2bc%26d%3ce%3e', 'KEY.WITH*SIGNS']) {
    expect(redaction.clean(`<${text}>`)).toBe('<[secret]>')
  }
  expect(redaction.clean('a/b+c&amp;d&lt;e&gt;')).toBe('[secret]')
  expect(redaction.clean('KeyXWith*Signs')).toBe('KeyXWith*Signs')
  expect(redaction.clean('İ KEY.WITH*SIGNS')).toBe('İ [secret]')
})

it('finds every line of a key', () => {
  const lines = ['-----BEGIN KEY-----', 'MIIBVAIBADANBgkq', 'hkiG9w0BAQEFAASC', '-----END KEY-----']
  const redaction = new Redaction([lines.join('\n')])
  expect(redaction.clean(lines.join('\n'))).toBe('[secret]')
  expect(redaction.clean(`line: ${lines[1]}`)).toBe('line: [secret]')
})

it('finds parts of a URL', () => {
  const url = new URL('https://Hooks.example.com:8443/services/T0/ab%2Fcdefghij?key=0123456789&v=1')
  const redaction = new Redaction(partsOfUrl(url))
  for (const text of [
    ...[url.href, 'hooks.example.com:8443', 'HOOKS.example.com', '/services/T0/ab%2Fcdefghij?key=0123456789&v=1'],
    ...['ab%2Fcdefghij', 'ab/cdefghij', '0123456789', '/services/T0/ab/cdefghij'],
  ]) {
    expect(redaction.clean(`at ${text}.`)).toBe('at [secret].')
  }
  expect(redaction.clean('T0 v=1')).toBe('T0 v=1')
})

describe('an answer', () => {
  const redaction = new Redaction(['s3cret+value', 'secret-secret'])
  const clean = (text: string, truncated = false) => redaction.cleanAnswer({ text, truncated })

  it('in JSON is cleaned as what it means, with numbers as they were written', () => {
    expect(clean('{"s3cret\\u002bvalue":["\\u0073ecret-secret"],"n":9007199254740993}')).toBe(
      '{"[secret]":["[secret]"],"n":9007199254740993}',
    )
    expect(clean('{"a": "\\u0041", "n": 1.0}')).toBe('{"a": "\\u0041", "n": 1.0}')
    expect(clean('{"a": "\\n')).toBe('{"a": "\\n')
    expect(clean(`${'['.repeat(100_000)}"\\n"${']'.repeat(100_000)}`)).toHaveLength(200_004)
  })

  it('that is cut within a secret loses its beginning too', () => {
    expect(clean('you said s3cret+value and s3cret+va', true)).toBe('you said [secret] and ')
    expect(clean('you said S3CRET+va\uFFFD', true)).toBe('you said ')
    expect(clean('nothing here', true)).toBe('nothing here')
    // An end of a secret may be the beginning of it.
    expect(clean('secret-secret', true)).toBe('[secret]')
    expect(clean('secret-secret-secret', true)).toBe('[secret]')
  })
})

it('is quick with keys of 64 KiB', () => {
  const key = Array.from({ length: 1_000 }, (_, n) => `${n}`.padStart(64, 'abcdefgh')).join('\n')
  const redaction = new Redaction([key])
  expect(redaction.clean(`${'x'.repeat(100_000)}${key}`) === `${'x'.repeat(100_000)}[secret]`).toBe(true)
  expect(redaction.cleanPart(`y${key.slice(0, 60_000)}`).clean === 'y').toBe(true)
})

describe('a stream', () => {
  const printed = (secrets: string[], text: string, size: number) => {
    const chunks: Buffer[] = []
    const stream = new RedactedStream(new Redaction(secrets), (chunk) => chunks.push(chunk))
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += size) stream.add(bytes.subarray(at, at + size))
    stream.end()
    return Buffer.concat(chunks).toString()
  }

  it.each([1, 2, 3, 5, 7, 1_000])('in pieces of %i bytes has no secret either', (size) => {
    const text = 'ab abcabé abcabéabc abcab\nabca'
    expect(printed(['abcabé'], text, size)).toBe('ab [secret] [secret]abc abcab\nabca')
    expect(printed([], text, size)).toBe(text)
  })

  it('waits for no more than it must', () => {
    const chunks: string[] = []
    const stream = new RedactedStream(new Redaction(['secret']), (chunk) => chunks.push(`${chunk}`))
    stream.add(Buffer.from('all of it\n'))
    stream.add(Buffer.from('but se'))
    expect(chunks).toEqual(['all of it\n', 'but '])
  })
})
