import { Readable } from 'node:stream'
import { CarillonError, JsonText, numbersIn } from '@carillon/contract'
import { encodeJson } from '@carillon/sdk'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { parseInPieces } from './parse.ts'
import { readBody } from './read-body.ts'
import { BodyScanner } from './scanner.ts'

const bounds = { maxBytes: 16 * 1024 * 1024, maxDepth: 1_000, maxValues: 1_000_000 }
const chunkBytes = 64 * 1024

/** As a socket gives it out. */
function* chunksOf(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

async function refusal(work: () => Promise<unknown>): Promise<CarillonError> {
  try {
    await work()
  } catch (error) {
    if (error instanceof CarillonError) return error
    throw error
  }
  throw new Error('was not refused')
}

const mebi = 1024 * 1024
const evil: [string, string, number][] = [
  ['brackets', '['.repeat(16 * mebi), chunkBytes],
  ['objects inside each other', '{"a":'.repeat(3 * mebi), chunkBytes],
  ['brackets after a long string', `["${'x'.repeat(2 * mebi)}",${'['.repeat(mebi)}`, 2 * mebi + 2 * chunkBytes],
  ['brackets after escapes', `["${'\\"'.repeat(mebi)}",${'['.repeat(mebi)}`, 2 * mebi + 2 * chunkBytes],
  ['keys', `{${Array.from({ length: 1_300_000 }, (_, i) => `"k${i}":0`).join(',')}}`, 8 * mebi],
  ['small values', `[${'0,'.repeat(8 * mebi - 2)}0]`, 2 * mebi + chunkBytes],
  ['empty lists', `[${'[],'.repeat(5 * mebi)}[]]`, 3 * mebi + chunkBytes],
  ['more than may be sent', `"${'x'.repeat(17 * mebi)}"`, 16 * mebi + chunkBytes],
]

describe('a body that would be expensive to parse', () => {
  it.each(evil)('%s: is refused while it arrives, before it is parsed', async (_, text, atMost) => {
    const parse = vi.spyOn(JSON, 'parse')
    let read = 0
    const stream = Readable.from(
      (function* () {
        for (const chunk of chunksOf(text)) {
          read += chunk.length
          yield chunk
        }
      })(),
      { highWaterMark: 1 },
    )
    const scanned = vi.spyOn(BodyScanner.prototype, 'push')
    try {
      const error = await refusal(() => readBody(stream, bounds, []))
      expect(['VALIDATION', 'BODY_TOO_LARGE']).toContain(error.code)
      expect(parse).not.toHaveBeenCalled()
      const bytes = scanned.mock.calls.reduce((sum, [chunk]) => sum + chunk.length, 0)
      expect(bytes).toBeLessThanOrEqual(atMost)
      expect(read).toBeGreaterThan(0)
    } finally {
      vi.restoreAllMocks()
    }
  })

  it('large and within bounds: no piece that is parsed at once is longer than one item and 64 KiB', async () => {
    const jobs = Array.from({ length: 10_000 }, (_, i) => ({ type: 'ONE_SHOT', payload: { i, text: 'x'.repeat(500) } }))
    const text = JSON.stringify({ partial: true, jobs })
    const parse = vi.spyOn(JSON, 'parse')
    try {
      const { value } = await readBody(Readable.from(chunksOf(text)), bounds, [])
      expect(Math.max(...parse.mock.calls.map(([piece]) => piece.length))).toBeLessThan(64 * 1024 + 1_000)
      expect(value).toEqual({ partial: true, jobs })
    } finally {
      vi.restoreAllMocks()
    }
  })
})

describe('parseInPieces', () => {
  it('reads what JSON.parse reads, and refuses what that refuses', async () => {
    const spaced = fc.tuple(fc.jsonValue(), fc.constantFrom(0, 1, '\t'))
    await fc.assert(
      fc.asyncProperty(
        spaced,
        fc.nat(),
        fc.constantFrom('', ',', ']', '}', '"', 'x', ' '),
        async ([json, space], at, put) => {
          const whole = JSON.stringify({ list: [json, json], json }, null, space)
          const text = whole.slice(0, at % whole.length) + put + whole.slice(at % whole.length)
          let expected: unknown
          try {
            expected = JSON.parse(text)
          } catch {
            await expect(parseInPieces(text)).rejects.toThrow()
            return
          }
          expect(await parseInPieces(text)).toEqual(expected)
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('takes a name for a name', async () => {
    const body = (await parseInPieces('{"__proto__":{"a":1},"a":[1],"a":[2]}')) as Record<string, unknown>
    expect(Object.keys(body)).toEqual(['__proto__', 'a'])
    expect(body.a).toEqual([2])
    expect(await parseInPieces(' {} ')).toEqual({})
    await expect(parseInPieces('{} 1')).rejects.toThrow()
    await expect(parseInPieces('{"a":[1,]}')).rejects.toThrow()
  })
})

/** Numbers of the JSON test suites of others (JSONTestSuite, RFC 8259 and the ECMAScript tests), that a double changes. */
const unusual = [
  '9007199254740993',
  '-9007199254740993',
  '12345678901234567890',
  '100000000000000000000000000000000000001',
  '0.1000000000000000055511151231257827',
  '1.0',
  '-0',
  '-0.0',
  '1E22',
  '1e+2',
  '1.5e300',
  '123.456e-789',
  '3.141592653589793238462643383279',
]
/** Of the same suites; they are refused, as before. */
const infinite = [
  '-123123e100000',
  '1e400',
  '0.4e006699999999999999999999999999999999999999999999999999999999999999969999999006',
]
const usual = ['0', '1', '-1', '12.5', '9007199254740991', '1e+21', '5e-324', '0.1', '-273.15', '1700000000000']

describe('numbers', () => {
  it.each(unusual)('%s is not what JSON.stringify writes', (number) => {
    expect(numbersIn(`{"n":[${number}]}`)).toBe('CHANGED')
    expect(numbersIn(`"${number}"`)).toBe('KEPT')
  })
  it.each(usual)('%s is', (number) => expect(numbersIn(number)).toBe('KEPT'))

  it.each(infinite)('%s is no number of JavaScript', async (number) => {
    expect(numbersIn(`[1.0,${number}]`)).toBe('INFINITE')
    const { value } = await readBody(Readable.from(chunksOf(`{"payload":[${number}]}`)), bounds, ['/payload'])
    expect(() => encodeJson((value as { payload: unknown }).payload, 'payload')).toThrow(/Infinity/)
  })

  it('are seen in whichever chunk they are', () => {
    for (const number of [...unusual, ...usual]) {
      const bytes = Buffer.from(`{"9007199254740993":[ ${number} ,"${number}"]}`)
      for (let at = 0; at <= bytes.length; at++) {
        const scanner = new BodyScanner(bounds)
        scanner.push(bytes.subarray(0, at))
        scanner.push(bytes.subarray(at))
        expect(scanner.numbersKept).toBe(usual.includes(number))
      }
    }
  })

  it('in opaque places come through as they were written, elsewhere as numbers', async () => {
    const text = `{"n": 1.0, "jobs": [ {"payload" : {"id": 12345678901234567890, "s": "a \\u0000 b" } }, {"payload":1}, 7 ]}`
    const { value } = await readBody(Readable.from(chunksOf(text)), bounds, ['/jobs/*/payload'])
    const { n, jobs } = value as { n: number; jobs: { payload: unknown }[] }
    expect(n).toBe(1)
    expect(jobs[0]!.payload).toBeInstanceOf(JsonText)
    expect(encodeJson(jobs[0]!.payload, 'payload')).toBe('{"id":12345678901234567890,"s":"a \\u0000 b"}')
    expect(jobs[1]!.payload).toBe(1)
  })

  it('do not get a text past the bounds of size and depth', () => {
    const deep = new JsonText(`${'['.repeat(97)}1.0${']'.repeat(97)}`)
    expect(() => encodeJson(deep, 'payload')).toThrow(/nested more than 96/)
    const large = new JsonText(`["${'x'.repeat(256 * 1024)}",1.0]`)
    expect(() => encodeJson(large, 'payload')).toThrow(/more than the 262144 allowed/)
  })
})

describe('text', () => {
  it.each([
    ['a lone continuation byte', [0x22, 0x80, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a cut character', [0x22, 0xe2, 0x82, 0x22]],
    ['Latin-1', [0x22, 0xe9, 0x22]],
  ])('%s is refused', async (_, bytes) => {
    const error = await refusal(() => readBody(Readable.from([Buffer.from(bytes)]), bounds, []))
    expect(error.code).toBe('BODY_MALFORMED')
    expect(error.message).toMatch(/UTF-8/)
  })
})
