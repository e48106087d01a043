/** Cycles of a graph. `edges` has, for each node, the nodes that it points to. No recursion: a path may have every node in it. */
type Edges = readonly (readonly number[])[]

const onPath = 1
const done = 2

/**
 * Distinct cycles, at most `most`, each from its smallest node on; none if and only if there is no cycle. Of the cycles through one
 * edge the shortest is found, so that a person has few names to read.
 */
export function findCycles(edges: Edges, most: number): number[][] {
  const cycles: number[][] = []
  const named = new Set<number>()
  const states = new Uint8Array(edges.length)
  for (let root = 0; root < edges.length; root++) {
    if (states[root] !== 0) continue
    const path = [root]
    const nextEdge = [0]
    states[root] = onPath
    while (path.length > 0) {
      const node = path.at(-1)!
      const next = edges[node]![nextEdge[nextEdge.length - 1]!++]
      if (next === undefined) {
        states[node] = done
        path.pop()
        nextEdge.pop()
      } else if (states[next] === 0) {
        states[next] = onPath
        path.push(next)
        nextEdge.push(0)
      } else if (states[next] === onPath && !named.has(node * edges.length + next)) {
        // An edge of a cycle that was found is not looked at again: so each search finds another one.
        const cycle = fromSmallest(shortestPath(edges, next, node))
        if (cycles.push(cycle) === most) return cycles
        for (const [i, from] of cycle.entries()) named.add(from * edges.length + cycle[(i + 1) % cycle.length]!)
      }
    }
  }
  return cycles
}

/** Breadth first. There must be a path. */
function shortestPath(edges: Edges, from: number, to: number): number[] {
  const before = new Map([[from, from]])
  const queue = [from]
  for (let at = 0; !before.has(to); at++) {
    for (const next of edges[queue[at]!]!) {
      if (before.has(next)) continue
      before.set(next, queue[at]!)
      queue.push(next)
    }
  }
  const path = [to]
  while (path.at(-1) !== from) path.push(before.get(path.at(-1)!)!)
  return path.reverse()
}

function fromSmallest(cycle: number[]): number[] {
  const start = cycle.indexOf(Math.min(...cycle))
  return [...cycle.slice(start), ...cycle.slice(0, start)]
}
