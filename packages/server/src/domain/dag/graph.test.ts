import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findCycles } from './cycles.ts'
import { type GraphStep, graphProblems, inOrder } from './graph.ts'

/** `graph('a', 'b a', 'c a b')`: each step, then those it depends on. */
function graph(...lines: string[]): GraphStep[] {
  return lines.map((line) => {
    const [name, ...dependsOn] = line.split(' ') as [string, ...string[]]
    return dependsOn.length === 0 ? { name } : { name, dependsOn }
  })
}

const told = (...lines: string[]) => graphProblems(graph(...lines)).map(({ pointer, message }) => [pointer, message])
const orderOf = (...lines: string[]) => inOrder(graph(...lines)).map(({ step }) => step.name)
const inACycle = 'the steps depend on each other in a cycle:'

describe('a graph', () => {
  it.each([
    [['a']],
    [['a', 'b a', 'c a b']],
    [['c a b', 'b a', 'a']],
    [['__proto__', 'constructor __proto__', 'toString constructor']],
  ])('%j is right', (lines) => {
    expect(graphProblems(graph(...lines))).toEqual([])
  })

  it('names each step once', () => {
    expect(told('a', 'b', 'a', 'a b')).toEqual([
      ['/steps/2/name', 'name a is that of step 0 too'],
      ['/steps/3/name', 'name a is that of step 0 too'],
    ])
  })

  it('depends on steps that are there, or says which one was meant', () => {
    const problems = graphProblems(graph('extract', 'load extrcat other'))
    expect(problems).toEqual([
      {
        pointer: '/steps/1/dependsOn/0',
        message: 'dependsOn names extrcat, which is no step of this graph',
        hint: 'Did you mean extract?',
      },
      {
        pointer: '/steps/1/dependsOn/1',
        message: 'dependsOn names other, which is no step of this graph',
        hint: 'Name a step of this graph',
      },
    ])
    expect(told('a', 'b hasOwnProperty')).toHaveLength(1)
  })

  it('depends on no step twice, and none on itself', () => {
    expect(told('a', 'b a a', 'c c')).toEqual([
      ['/steps/1/dependsOn/1', 'dependsOn names a twice'],
      ['/steps/2/dependsOn/0', 'step c depends on itself'],
    ])
  })

  it('has no cycle; each is named once, from the step that was given first', () => {
    expect(told('x', 'a x b', 'b c', 'c a')).toEqual([['/steps/1/dependsOn/1', `${inACycle} a -> b -> c -> a`]])
    expect(told('a b', 'b a', 'c d', 'd c')).toEqual([
      ['/steps/0/dependsOn/0', `${inACycle} a -> b -> a`],
      ['/steps/2/dependsOn/0', `${inACycle} c -> d -> c`],
    ])
    expect(told('a b c', 'b a', 'c a')).toHaveLength(2)
  })

  it('of which everything is told at once', () => {
    const problems = told('a b', 'b a', 'b', 'c c nope')
    expect(problems.map(([pointer]) => pointer)).toEqual([
      '/steps/2/name',
      '/steps/3/dependsOn/0',
      '/steps/3/dependsOn/1',
      '/steps/0/dependsOn/0',
    ])
  })

  it('has at most 1,000 steps and 20,000 dependencies', () => {
    const steps = Array.from({ length: 1_001 }, (_, i) => ({ name: `s${i}` }))
    expect(graphProblems(steps)).toMatchObject([{ pointer: '/steps', message: expect.stringContaining('1001') }])
    expect(graphProblems(steps.slice(1))).toEqual([])
    const dense = dag(1_000, 21)
    expect(graphProblems(dense)).toMatchObject([
      { pointer: '/steps', message: expect.stringContaining('dependencies') },
    ])
    expect(graphProblems(dag(1_000, 20))).toEqual([])
  })

  it('that is wrong everywhere is answered shortly', () => {
    const unknown = Array.from({ length: 1_000 }, (_, i) => ({ name: `step-${i}`, dependsOn: [`stop-${i}`] }))
    expect(graphProblems(unknown)).toHaveLength(50)
    const ring = Array.from({ length: 1_000 }, (_, i) => ({ name: `s${i}`, dependsOn: [`s${(i + 1) % 1_000}`] }))
    const [problem, ...more] = graphProblems(ring)
    expect(more).toEqual([])
    expect(problem!.message).toContain('s0 -> s1 -> s2')
    expect(problem!.message).toContain('… (980 more) -> s0')
  })

  it('of 1,000 steps that all depend on each other is judged in a moment', () => {
    const steps = Array.from({ length: 140 }, (_, i) => ({
      name: `s${i}`,
      dependsOn: Array.from({ length: 140 }, (_, k) => `s${k}`).filter((_, k) => k !== i),
    }))
    const began = performance.now()
    expect(graphProblems(steps)).toHaveLength(5)
    expect(performance.now() - began).toBeLessThan(1_000)
  })
})

/** Each step depends on up to `width` before it. */
function dag(count: number, width: number): GraphStep[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `s${i}`,
    dependsOn: Array.from({ length: width }, (_, k) => `s${(i + k) % count}`).filter((_, k) => (i + k) % count < i),
  })).map((step, i) =>
    i < width ? step : { ...step, dependsOn: Array.from({ length: width }, (_, k) => `s${i - k - 1}`) },
  )
}

describe('the order', () => {
  it('is the one given where that will do', () => {
    expect(orderOf('a', 'b', 'c a')).toEqual(['a', 'b', 'c'])
    expect(orderOf('c a b', 'b', 'a', 'd')).toEqual(['b', 'a', 'c', 'd'])
  })

  it('has dependencies and children as places', () => {
    expect(inOrder(graph('c b a', 'a', 'b a', 'd c a'))).toMatchObject([
      { step: { name: 'a' }, dependsOn: [], children: [1, 2, 3] },
      { step: { name: 'b' }, dependsOn: [0], children: [2] },
      { step: { name: 'c' }, dependsOn: [1, 0], children: [3] },
      { step: { name: 'd' }, dependsOn: [2, 0], children: [] },
    ])
  })

  it('of a chain of 1,000 steps given backwards is found without recursion', () => {
    const chain = Array.from({ length: 1_000 }, (_, i) => ({ name: `s${i}`, dependsOn: i < 999 ? [`s${i + 1}`] : [] }))
    expect(graphProblems(chain)).toEqual([])
    expect(inOrder(chain).map(({ step }) => step.name)).toEqual(chain.map(({ name }) => name).reverse())
  })
})

/** Any edges between a few nodes. */
const anyEdges = fc
  .integer({ min: 1, max: 12 })
  .chain((count) =>
    fc.array(fc.uniqueArray(fc.nat(count - 1), { maxLength: 4 }), { minLength: count, maxLength: count }),
  )
const withoutLoops = (edges: number[][]) => edges.map((others, i) => others.filter((other) => other !== i))
const stepsOf = (edges: number[][]): GraphStep[] =>
  edges.map((others, i) => ({ name: `s${i}`, dependsOn: others.map((other) => `s${other}`) }))

/** Whether each node can be taken after those it points to. */
function hasOrder(edges: readonly number[][]): boolean {
  const taken = new Set<number>()
  for (let found = true; found; ) {
    found = false
    for (const [i, others] of edges.entries()) {
      if (taken.has(i) || !others.every((other) => taken.has(other))) continue
      taken.add(i)
      found = true
    }
  }
  return taken.size === edges.length
}

describe('in any graph', () => {
  it('a cycle is found if and only if there is no order, and each is one, and another', () => {
    fc.assert(
      fc.property(anyEdges.map(withoutLoops), (edges) => {
        const cycles = findCycles(edges, 5)
        expect(cycles.length === 0).toBe(hasOrder(edges))
        for (const cycle of cycles) {
          expect(new Set(cycle).size).toBe(cycle.length)
          expect(cycle[0]).toBe(Math.min(...cycle))
          for (const [i, node] of cycle.entries()) expect(edges[node]).toContain(cycle[(i + 1) % cycle.length])
        }
        expect(new Set(cycles.map(String)).size).toBe(cycles.length)
      }),
    )
  })

  it('without a cycle, each step stands after those it depends on, and no other could have come before it', () => {
    fc.assert(
      fc.property(anyEdges.map(withoutLoops).filter(hasOrder), (edges) => {
        const steps = stepsOf(edges)
        const order = inOrder(steps)
        const given = order.map(({ step }) => steps.indexOf(step))
        expect(given.toSorted((a, b) => a - b)).toEqual(steps.map((_, i) => i))
        for (const [place, { step, dependsOn, children }] of order.entries()) {
          expect(dependsOn.map((other) => order[other]!.step.name)).toEqual(step.dependsOn)
          for (const other of dependsOn) expect(other).toBeLessThan(place)
          for (const child of children) expect(order[child]!.dependsOn).toContain(place)
          // Of those that stand later, none that was given before had all it depends on.
          for (const later of order.slice(place + 1)) {
            if (steps.indexOf(later.step) > given[place]!) continue
            expect(later.dependsOn.some((other) => other >= place)).toBe(true)
          }
        }
        const count = (all: number[][]) => all.reduce((sum, { length }) => sum + length, 0)
        expect(count(order.map(({ children }) => children))).toBe(count(edges))
      }),
    )
  })
})
