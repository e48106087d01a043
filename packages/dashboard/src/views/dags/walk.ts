/** Where an arrow key leads: along an edge to the right and the left, within a layer up and down. */
import type { Linked } from './layers.ts'
import type { Point } from './layout.ts'

/** The node itself if there is nothing in that direction. */
export function neighbour<Node extends Linked>(
  key: string,
  from: Node,
  nodes: readonly Node[],
  places: ReadonlyMap<string, Point>,
): Node {
  const at = (id: string) => places.get(id)!
  const here = at(from.id)
  const nearest = (among: readonly Node[]) =>
    among.reduce<Node>(
      (best, each) => (best === from || distance(at(each.id), here) < distance(at(best.id), here) ? each : best),
      from,
    )
  const inLayer = nodes.filter(({ id }) => at(id).x === here.x)
  switch (key) {
    case 'ArrowRight':
      return nearest(nodes.filter(({ dependsOn }) => dependsOn.includes(from.id)))
    case 'ArrowLeft':
      return nearest(nodes.filter(({ id }) => from.dependsOn.includes(id)))
    case 'ArrowDown':
      return nearest(inLayer.filter(({ id }) => at(id).y > here.y))
    case 'ArrowUp':
      return nearest(inLayer.filter(({ id }) => at(id).y < here.y))
    default:
      return from
  }
}

function distance(a: Point, b: Point): number {
  return Math.abs(a.x - b.x) + Math.abs(a.y - b.y)
}
