/** In the order given, but everything after what it needs, as far as that is among the others: a node refuses what names nothing. */
export function neededFirst<T>(items: readonly T[], keyOf: (item: T) => string, needsOf: (item: T) => string[]): T[] {
  const byKey = new Map(items.map((item) => [keyOf(item), item]))
  const ordered = new Set<T>()
  const visited = new Set<T>()
  const visit = (item: T): void => {
    // One that needs itself, by way of others, is refused by the node.
    if (visited.has(item)) return
    visited.add(item)
    for (const key of needsOf(item)) {
      const needed = byKey.get(key)
      if (needed !== undefined) visit(needed)
    }
    ordered.add(item)
  }
  for (const item of items) visit(item)
  return [...ordered]
}
