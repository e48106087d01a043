import { describe, expect, test } from 'vitest'
import { BoundedNames, Counter, exposition, Gauge, Histogram } from './families.ts'

describe('families', () => {
  test('are printed as Prometheus reads them', () => {
    const counter = new Counter({ name: 'a_total', help: 'So many', labels: ['what'] })
    counter.of('x "y"\n\\').value += 2
    const sizes = new Histogram({ name: 'b', help: 'How large', bounds: [1, 5] })
    for (const value of [1, 3, 9]) sizes.observe(sizes.of(), value)
    expect(exposition([counter, sizes, new Gauge({ name: 'c', help: 'Without series' })], { whole: true })).toBe(
      [
        '# HELP a_total So many',
        '# TYPE a_total counter',
        String.raw`a_total{what="x \"y\"\n\\"} 2`,
        '# HELP b How large',
        '# TYPE b histogram',
        'b_bucket{le="1"} 1',
        'b_bucket{le="5"} 2',
        'b_bucket{le="+Inf"} 3',
        'b_sum 13',
        'b_count 3',
        '',
      ].join('\n'),
    )
  })

  test('without private labels are added up, or show the largest', () => {
    const labels = ['where', 'tenant', 'pool']
    const count = new Gauge({ name: 'count', help: '', labels })
    const oldest = new Gauge({ name: 'oldest', help: '', labels, merge: 'max' })
    const spread = new Histogram({ name: 'spread', help: '', labels: ['handler'], bounds: [1] })
    for (const [tenant, value] of [
      ['acme', 3],
      ['beta', 4],
    ] as const) {
      count.of('ready', tenant, 'p').value = value
      oldest.of('ready', tenant, 'p').value = value
      spread.observe(spread.of(tenant), value)
    }
    count.of('running', 'acme', 'p').value = 1
    expect(count.lines(false)).toEqual(['count{where="ready"} 7', 'count{where="running"} 1'])
    expect(oldest.lines(false)).toEqual(['oldest{where="ready"} 4'])
    expect(spread.lines(false)).toEqual([
      ...['spread_bucket{le="1"} 0', 'spread_bucket{le="+Inf"} 2', 'spread_sum 7', 'spread_count 2'],
    ])
    expect(count.lines(true)).toHaveLength(3)
  })

  test('names beyond the bound are one', () => {
    const names = new BoundedNames(2)
    expect(['a', 'b', 'c', 'a', 'd'].map((name) => names.of(name))).toEqual(['a', 'b', 'other', 'a', 'other'])
  })
})
