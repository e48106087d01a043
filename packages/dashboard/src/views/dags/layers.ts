/** In which layer of the drawing each node stands: one after the last of those it depends on. */

export interface Linked {
  id: string
  dependsOn: readonly string[]
}

/** By id, from 0 on: the length of the longest chain before it. What is not among the nodes is left out. */
export function layersOf(nodes: readonly Linked[]): Map<string, number> {
  const missing = new Map<string, number>()
  const next = new Map<string, string[]>(nodes.map(({ id }) => [id, []]))
  for (const { id, dependsOn } of nodes) {
    const known = dependsOn.filter((each) => next.has(each))
    missing.set(id, known.length)
    for (const each of known) next.get(each)!.push(id)
  }
  const layers = new Map<string, number>()
  const ready = nodes.filter(({ id }) => missing.get(id) === 0).map(({ id }) => id)
  for (const id of ready) layers.set(id, 0)
  // `ready` grows while it is walked.
  for (const id of ready) {
    for (const after of next.get(id)!) {
      layers.set(after, Math.max(layers.get(after) ?? 0, layers.get(id)! + 1))
      missing.set(after, missing.get(after)! - 1)
      if (missing.get(after) === 0) ready.push(after)
    }
  }
  return layers
}
