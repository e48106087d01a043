import { describe, expect, it } from 'vitest'
import { OutputLog } from './output-log.ts'

function print(...chunks: string[]) {
  const lines: string[] = []
  const output = new OutputLog((line) => lines.push(line))
  for (const chunk of chunks) output.add(Buffer.from(chunk))
  return { lines, output }
}

describe('the log of a program', () => {
  it('has each line as soon as it is printed, and the rest at the end', () => {
    const { lines, output } = print('one\ntw', 'o\nthr', 'ee')
    expect(lines).toEqual(['one', 'two'])
    output.end()
    expect([lines, output.lastLine]).toEqual([['one', 'two', 'three'], 'three'])
  })

  it('has the first and the last lines of many, and says how much is missing', () => {
    const { lines, output } = print(...Array.from({ length: 2_000 }, (_, at) => `${at}\n`))
    output.end()
    expect(lines.slice(0, 490)).toEqual(Array.from({ length: 490 }, (_, at) => `${at}`))
    expect(lines[490]).toBe('[1020 lines here are not kept]')
    expect(lines.slice(491)).toEqual(Array.from({ length: 490 }, (_, at) => `${at + 1_510}`))
  })

  it('stays within the bounds of an attempt, whatever is printed', () => {
    const wide = print(...Array.from({ length: 3_000 }, () => `${'é'.repeat(100)}\n`), '\n the end \n\n')
    wide.output.end()
    const endless = print(...Array.from({ length: 3_000 }, () => 'x'.repeat(100)))
    endless.output.end()
    for (const { lines } of [wide, endless]) {
      expect(lines.some((line) => /^\[\d+ bytes here are not kept\]$/.test(line))).toBe(true)
      expect(Buffer.byteLength(lines.join('\n'))).toBeLessThan(64 * 1024)
      expect(lines.length).toBeLessThan(1_000)
    }
    expect(wide.output.lastLine).toBe(' the end ')
  })

  it('of nothing is empty', () => {
    const { lines, output } = print()
    output.end()
    expect([lines, output.lastLine]).toEqual([[], ''])
  })
})
