import { limits } from '@carillon/contract'
import { describe, expect, it } from 'vitest'
import { parseListPath } from '../domain/dag/list-path.ts'
import { itemsAt } from './items.ts'

const given = {
  inputs:
    '"results":{"find":{"files":["a", {"n":1.50}, 12345678901234567890],"count":3},"find-2":[[1],[2,3]]},"states":{}',
  payload: '{"days":["mon"],"days":["tue","wed"]}',
}
const at = (text: string) => itemsAt(parseListPath(text)!, given)

describe('the way to a list', () => {
  it('leads to items, which stay as they were written', () => {
    expect(at('results.find.files')).toEqual(['"a"', '{"n":1.50}', '12345678901234567890'])
    expect(at('results["find-2"]')).toEqual(['[1]', '[2,3]'])
    expect(at('results["find-2"][1]')).toEqual(['2', '3'])
    expect(at('payload.days')).toEqual(['"tue"', '"wed"'])
    expect(itemsAt(parseListPath('payload')!, { inputs: null, payload: '[]' })).toEqual([])
  })

  it('says what is there instead of a list', () => {
    const error = (text: string) => (at(text) as { error: string }).error
    expect(error('results.find')).toBe('results.find is an object, not a list')
    expect(error('results.find.count')).toBe('results.find.count is a number, not a list')
    expect(error('results.find.nothing')).toBe('results.find.nothing is not there')
    expect(error('results.find[0]')).toBe('results.find[0] is not there')
    expect(error('results["find-2"][7]')).toBe('results["find-2"][7] is not there')
    expect(itemsAt(parseListPath('payload')!, { inputs: null, payload: null })).toEqual({
      error: 'payload is null, not a list',
    })
  })

  it('leads to a bounded number of items', () => {
    const list = (count: number) => `[${Array.from({ length: count }, () => '0').join(',')}]`
    const items = (count: number) => itemsAt(parseListPath('payload')!, { inputs: null, payload: list(count) })
    expect(items(limits.items)).toHaveLength(limits.items)
    expect(items(limits.items + 1)).toEqual({ error: `payload has more than ${limits.items} items` })
  })
})
