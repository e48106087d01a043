/**
 * Families of metrics as Prometheus reads them. Made for figures that change with every execution: the code that counts keeps the series and
 * adds to it, without looking it up by its labels.
 *
 * A family whose labels name tenants, pools, handlers or graphs can be printed without them: its series are then added up, or of a gauge
 * that cannot be added up the largest is shown.
 */

/** Labels that name what belongs to someone. */
export const privateLabels: ReadonlySet<string> = new Set(['tenant', 'pool', 'handler', 'dag'])

/** Printed in place of names beyond the bound. */
export const other = 'other'

export interface FamilyOptions {
  name: string
  help: string
  labels?: readonly string[]
  /** How series that differ only in private labels become one. */
  merge?: 'sum' | 'max'
}

interface Labelled<Series> {
  values: readonly string[]
  series: Series
}

export abstract class Family<Series> {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly merge: 'sum' | 'max'
  abstract readonly type: 'counter' | 'gauge' | 'histogram'
  readonly #series = new Map<string, Labelled<Series>>()

  constructor({ name, help, labels = [], merge = 'sum' }: FamilyOptions) {
    this.name = name
    this.help = help
    this.labels = labels
    this.merge = merge
  }

  /** The series with these values of the labels, in their order. */
  of(...values: string[]): Series {
    const key = values.join('\u0000')
    const known = this.#series.get(key)
    if (known !== undefined) return known.series
    const series = this.empty()
    this.#series.set(key, { values, series })
    return series
  }

  clear(): void {
    this.#series.clear()
  }

  /** Lines without help and type. `whole`: with private labels. */
  lines(whole: boolean): string[] {
    const shown = this.labels.flatMap((label, at) => (whole || !privateLabels.has(label) ? [at] : []))
    const merged = new Map<string, Series>()
    for (const { values, series } of this.#series.values()) {
      const text = shown.map((at) => `${this.labels[at]}="${escaped(values[at]!)}"`).join(',')
      const before = merged.get(text)
      merged.set(text, before === undefined ? series : this.merged(before, series))
    }
    return [...merged].flatMap(([labels, series]) => this.linesOf(labels, series))
  }

  protected abstract empty(): Series
  /** A new one: neither of the two is changed. */
  protected abstract merged(one: Series, another: Series): Series
  protected abstract linesOf(labels: string, series: Series): string[]
}

export interface Value {
  value: number
}

abstract class SingleValue extends Family<Value> {
  protected empty(): Value {
    return { value: 0 }
  }

  protected merged(one: Value, another: Value): Value {
    return { value: this.merge === 'sum' ? one.value + another.value : Math.max(one.value, another.value) }
  }

  protected linesOf(labels: string, { value }: Value): string[] {
    return [`${this.name}${labels && `{${labels}}`} ${value}`]
  }
}

export class Counter extends SingleValue {
  readonly type = 'counter'
}

export class Gauge extends SingleValue {
  readonly type = 'gauge'
}

export interface Distribution {
  /** By bucket; the last has no bound. */
  counts: Float64Array
  sum: number
}

export class Histogram extends Family<Distribution> {
  readonly type = 'histogram'
  readonly #bounds: readonly number[]

  constructor({ bounds, ...options }: FamilyOptions & { bounds: readonly number[] }) {
    super(options)
    this.#bounds = bounds
  }

  observe(series: Distribution, value: number): void {
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && value > bounds[at]!) at++
    series.counts[at]!++
    series.sum += value
  }

  protected empty(): Distribution {
    return { counts: new Float64Array(this.#bounds.length + 1), sum: 0 }
  }

  protected merged(one: Distribution, another: Distribution): Distribution {
    return { counts: one.counts.map((count, at) => count + another.counts[at]!), sum: one.sum + another.sum }
  }

  protected linesOf(labels: string, { counts, sum }: Distribution): string[] {
    const before = labels && `${labels},`
    let total = 0
    const buckets = Array.from(counts, (count, at) => {
      total += count
      return `${this.name}_bucket{${before}le="${this.#bounds[at] ?? '+Inf'}"} ${total}`
    })
    const own = labels && `{${labels}}`
    return [...buckets, `${this.name}_sum${own} ${sum}`, `${this.name}_count${own} ${total}`]
  }
}

/** Names of which only the first ones have series of their own: each costs memory here and in Prometheus. */
export class BoundedNames {
  readonly #names = new Set<string>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  of(name: string): string {
    if (this.#names.has(name)) return name
    if (this.#names.size >= this.#most) return other
    this.#names.add(name)
    return name
  }
}

export function exposition(families: Iterable<Family<unknown>>, { whole }: { whole: boolean }): string {
  let text = ''
  for (const family of families) {
    const lines = family.lines(whole)
    if (lines.length === 0) continue
    text += `# HELP ${family.name} ${family.help}\n# TYPE ${family.name} ${family.type}\n${lines.join('\n')}\n`
  }
  return text
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`))
}
