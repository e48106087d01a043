/** A list of names that are allowed, and of prefixes: `orders` is that name, `orders.*` every longer one that begins with `orders.`. */
export class NamePatterns {
  readonly patterns: readonly string[]

  constructor(patterns: readonly string[]) {
    this.patterns = patterns
  }

  allows(name: string): boolean {
    return this.patterns.some((pattern) => {
      const { start, whole } = partsOf(pattern)
      return whole ? name === start : name.startsWith(start) && name.length > start.length
    })
  }

  /** For people. */
  toString(): string {
    return this.patterns.join(', ')
  }
}

/** Without the star at its end. */
export function partsOf(pattern: string): { start: string; whole: boolean } {
  return pattern.endsWith('*') ? { start: pattern.slice(0, -1), whole: false } : { start: pattern, whole: true }
}
