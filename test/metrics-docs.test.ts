/** docs/metrics.md names every metric with its type and labels, and no other. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Metrics } from '../packages/server/src/observability/metrics.ts'

const row = /^\| `(carillon_\w+)` \| (\w+) \| ([^|]+) \| (.+) \|$/gm

it('docs/metrics.md and the registry agree', () => {
  const text = readFileSync(new URL('../docs/metrics.md', import.meta.url), 'utf8')
  const documented = [...text.matchAll(row)].map(([, name, type, labels]) => {
    return `${name} ${type} ${[...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label).join(',')}`
  })
  const registered = new Metrics().families.map(({ name, type, labels }) => `${name} ${type} ${labels.join(',')}`)
  expect(documented.toSorted()).toEqual(registered.toSorted())
})

it('names keep to what Prometheus asks for', () => {
  for (const { name, type, help } of new Metrics().families) {
    expect(name).toMatch(/^carillon_[a-z_]+$/)
    expect(name.endsWith('_total'), name).toBe(type === 'counter')
    expect(help).not.toBe('')
  }
})

describe('what deploy/ watches', () => {
  const files = ['deploy/prometheus/rules.yml', 'deploy/grafana/carillon.json']
  const known = new Set(
    new Metrics().families.flatMap(({ name, type }) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => `${name}${part}`) : [name],
    ),
  )
  const labelsOf = new Map(new Metrics().families.map(({ name, labels }) => [name, labels]))

  it.each(files)('%s names metrics that exist', (file) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
    const named = [...new Set(text.match(/\bcarillon_\w+/g))]
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((name) => !known.has(name))).toEqual([])
  })

  it.each(files)('%s asks for labels that exist', (file) => {
    const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
    for (const [, name, selector] of text.matchAll(/\b(carillon_\w+)\{([^}]*)\}/g)) {
      const family = name!.replace(/_(bucket|sum|count)$/, '')
      const labels = [...selector!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!)
      expect(labelsOf.get(family), name).toEqual(expect.arrayContaining(labels))
    }
  })

  it('the dashboard shows every metric of executions, runs, the queue and the seams', () => {
    const text = readFileSync(new URL('../deploy/grafana/carillon.json', import.meta.url), 'utf8')
    const { work, runs, sampled, seams } = new Metrics()
    const all = [...work.families, ...runs.families, ...sampled.families, ...seams.families]
    expect(all.filter(({ name }) => !text.includes(name)).map(({ name }) => name)).toEqual([])
  })
})
