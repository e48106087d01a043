import { describe, expect, it } from 'vitest'
import { fold } from './fold.ts'
import { layersOf } from './layers.ts'
import { layOut, node } from './layout.ts'

type Graph = Record<string, string[]>

const linked = (graph: Graph) => Object.entries(graph).map(([id, dependsOn]) => ({ id, dependsOn }))
const steps = (graph: Graph) => Object.entries(graph).map(([name, dependsOn]) => ({ name, dependsOn }))
const diamond: Graph = { a: [], b: ['a'], c: ['a'], d: ['b', 'c'] }

describe('layers', () => {
  it('are the longest chains before each node, in whatever order the nodes come', () => {
    const graph: Graph = { end: ['a', 'c'], c: ['b'], b: ['a'], a: [], lone: [] }
    expect(Object.fromEntries(layersOf(linked(graph)))).toEqual({ a: 0, lone: 0, b: 1, c: 2, end: 3 })
  })

  it('leave out what is not there', () => {
    expect(layersOf([{ id: 'a', dependsOn: ['gone'] }]).get('a')).toBe(0)
  })
})

describe('the layout', () => {
  it('puts layers side by side and centres them', () => {
    const { places, height } = layOut(linked(diamond))
    expect(places.get('a')!.y).toBe((height - node.height) / 2)
    expect(places.get('b')!.x).toBe(places.get('c')!.x)
    expect(places.get('b')!.y).toBeLessThan(places.get('c')!.y)
    expect(places.get('d')!.x).toBeGreaterThan(places.get('b')!.x)
  })

  it('lets no two nodes overlap', () => {
    const graph: Graph = {}
    for (let at = 0; at < 120; at++) graph[`s${at}`] = at < 10 ? [] : [`s${at - 10}`, `s${(at * 7) % (at - 9)}`]
    const places = [...layOut(linked(graph)).places.values()]
    for (const [i, a] of places.entries()) {
      for (const b of places.slice(i + 1)) {
        expect(Math.abs(a.x - b.x) >= node.width || Math.abs(a.y - b.y) >= node.height).toBe(true)
      }
    }
  })

  it('crosses no edges where it need not', () => {
    const { places } = layOut(linked({ a: [], b: [], c: [], x: ['c'], y: ['a'], z: ['b'] }))
    const y = (id: string) => places.get(id)!.y
    expect(Math.sign(y('a') - y('b'))).toBe(Math.sign(y('y') - y('z')))
    expect(Math.sign(y('b') - y('c'))).toBe(Math.sign(y('z') - y('x')))
  })

  it('leads an edge over several layers past the nodes between', () => {
    const { places, edges } = layOut(linked({ a: [], b: ['a'], c: ['b'], d: ['a', 'c'] }))
    const { points } = edges.find(({ from, to }) => from === 'a' && to === 'd')!
    expect(points.length).toBe(6)
    for (const id of ['b', 'c']) {
      const { x, y } = places.get(id)!
      const behind = points.filter((point) => point.x >= x && point.x <= x + node.width)
      expect(behind.length).toBe(2)
      for (const point of behind) expect(point.y < y || point.y > y + node.height).toBe(true)
    }
  })

  it('takes a graph of 1,000 steps and 20,000 dependencies', () => {
    const graph: Graph = {}
    for (let at = 0; at < 1_000; at++) {
      const count = Math.min(at, 20)
      graph[`s${at}`] = Array.from({ length: count }, (_, i) => `s${at - 1 - ((i * at) % at || i)}`)
    }
    const unique = Object.fromEntries(Object.entries(graph).map(([id, after]) => [id, [...new Set(after)]]))
    expect(layOut(linked(unique)).places.size).toBe(1_000)
  })
})

describe('folding', () => {
  const fanOut: Graph = { list: [], report: [] }
  for (let file = 0; file < 50; file++) fanOut[`load_${file}`] = ['list']
  fanOut.report = Object.keys(fanOut).filter((name) => name.startsWith('load'))

  it('leaves a small graph as it is', () => {
    expect(fold(steps(diamond), new Set())).toEqual(
      Object.entries(diamond).map(([id, dependsOn]) => ({ id, members: [id], dependsOn })),
    )
  })

  it('makes one of those in a wide layer that stand in the same place', () => {
    const nodes = fold(steps(fanOut), new Set())
    expect(nodes.map(({ members }) => members.length).sort()).toEqual([1, 1, 50])
    const folded = nodes.find(({ members }) => members.length === 50)!
    expect(nodes.find(({ id }) => id === 'report')!.dependsOn).toEqual([folded.id])
  })

  it('shows them one by one once they are unfolded', () => {
    const folded = fold(steps(fanOut), new Set()).find(({ members }) => members.length > 1)!
    expect(fold(steps(fanOut), new Set([folded.id])).length).toBe(52)
  })

  it('keeps a layer narrow whose steps are all different', () => {
    const graph: Graph = {}
    for (let at = 0; at < 40; at++) graph[`a${at}`] = []
    for (let at = 0; at < 40; at++) graph[`b${at}`] = [`a${at}`]
    expect(fold(steps(graph), new Set()).length).toBe(2)
  })
})
