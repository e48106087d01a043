import fc from 'fast-check'
import { expect, it } from 'vitest'
import { neededFirst } from './needed-first.ts'

type Item = { key: string; needs: string[] }
const order = (items: Item[]) =>
  neededFirst(
    items,
    ({ key }) => key,
    ({ needs }) => needs,
  ).map(({ key }) => key)

it('keeps the order, but for what is needed before', () => {
  const needs = (key: string, ...needs: string[]): Item => ({ key, needs })
  expect(order([needs('a'), needs('b', 'd'), needs('c', 'gone'), needs('d', 'e'), needs('e')])).toEqual([...'aedbc'])
  expect(order([needs('a', 'b'), needs('b', 'a')])).toEqual(['b', 'a'])
})

it('puts everything after what it needs', () => {
  const graph = fc.array(fc.array(fc.nat({ max: 30 }), { maxLength: 4 }), { maxLength: 30 })
  fc.assert(
    fc.property(graph, fc.infiniteStream(fc.double({ noNaN: true })), (edges, random) => {
      // Each needs only ones of a smaller number, so there is no circle.
      const items = edges.map((needs, at) => ({ key: `${at}`, needs: needs.filter((to) => to < at).map(String) }))
      const shuffled = items.map((item) => ({ item, at: random.next().value })).sort((a, b) => a.at - b.at)
      const keys = order(shuffled.map(({ item }) => item))
      expect(keys.toSorted()).toEqual(items.map(({ key }) => key).toSorted())
      for (const { key, needs } of items)
        for (const need of needs) expect(keys.indexOf(need)).toBeLessThan(keys.indexOf(key))
    }),
  )
})
