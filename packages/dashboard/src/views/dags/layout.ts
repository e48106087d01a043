/**
 * Where the nodes of a graph are drawn: layers from left to right, each centred, and in each layer an order with few crossings. An edge
 * over several layers has a lane of its own between the nodes of each, one for all edges of its source, so that it runs behind no node.
 */
import { type Linked, layersOf } from './layers.ts'

export const node = { width: 184, height: 46 } as const
const gap = { x: 56, y: 14 } as const
const laneHeight = 10
/** With more of them, edges run straight: nobody can follow them one by one any more. */
const mostLanes = 400
const sweeps = 6

export interface Point {
  x: number
  y: number
}

export interface Layout {
  /** By id: the upper left corner. */
  places: ReadonlyMap<string, Point>
  edges: readonly { from: string; to: string; points: readonly Point[] }[]
  width: number
  height: number
}

interface Item {
  key: string
  isLane: boolean
  before: string[]
  after: string[]
}

export function layOut(nodes: readonly Linked[]): Layout {
  const layers = layersOf(nodes)
  const lanes = lanesOf(nodes, layers)
  const columns = columnsOf(nodes, layers, lanes)
  for (let sweep = 0; sweep < sweeps; sweep++) order(columns, sweep % 2 === 0)
  const middles = new Map<string, Point>()
  const heights = columns.map((column) => column.reduce((sum, { isLane }) => sum + heightOf(isLane) + gap.y, -gap.y))
  const height = Math.max(node.height, ...heights)
  for (const [layer, column] of columns.entries()) {
    let y = (height - heights[layer]!) / 2
    const x = layer * (node.width + gap.x) + node.width / 2
    for (const { key, isLane } of column) {
      middles.set(key, { x, y: y + heightOf(isLane) / 2 })
      y += heightOf(isLane) + gap.y
    }
  }
  return {
    places: new Map(
      nodes.map(({ id }) => {
        const { x, y } = middles.get(id)!
        return [id, { x: x - node.width / 2, y: y - node.height / 2 }]
      }),
    ),
    edges: nodes.flatMap(({ id, dependsOn }) =>
      dependsOn
        .filter((from) => layers.has(from))
        .map((from) => ({ from, to: id, points: pointsOf(from, id, layers, middles) })),
    ),
    width: columns.length * (node.width + gap.x) - gap.x,
    height,
  }
}

function heightOf(isLane: boolean): number {
  return isLane ? laneHeight : node.height
}

/** By source: the last layer its lane reaches. Empty if there would be too many. */
function lanesOf(nodes: readonly Linked[], layers: ReadonlyMap<string, number>): Map<string, number> {
  const lanes = new Map<string, number>()
  for (const { id, dependsOn } of nodes) {
    for (const from of dependsOn) {
      if (layers.get(id)! - layers.get(from)! > 1) lanes.set(from, Math.max(lanes.get(from) ?? 0, layers.get(id)! - 1))
    }
  }
  const count = [...lanes].reduce((sum, [from, last]) => sum + last - layers.get(from)!, 0)
  return count > mostLanes ? new Map() : lanes
}

function laneKey(from: string, layer: number): string {
  return `${from} @${layer}`
}

function columnsOf(
  nodes: readonly Linked[],
  layers: ReadonlyMap<string, number>,
  lanes: ReadonlyMap<string, number>,
): Item[][] {
  const columns: Item[][] = Array.from({ length: Math.max(0, ...layers.values()) + 1 }, () => [])
  const items = new Map<string, Item>()
  const add = (key: string, layer: number, isLane: boolean) => {
    const item: Item = { key, isLane, before: [], after: [] }
    items.set(key, item)
    columns[layer]!.push(item)
  }
  for (const { id } of nodes) {
    const layer = layers.get(id)!
    add(id, layer, false)
    for (let at = layer + 1; at <= (lanes.get(id) ?? 0); at++) add(laneKey(id, at), at, true)
  }
  const link = (before: string, after: string) => {
    if (items.get(after)!.before.includes(before)) return
    items.get(before)!.after.push(after)
    items.get(after)!.before.push(before)
  }
  for (const [from, last] of lanes) {
    const first = layers.get(from)!
    for (let at = first + 1; at <= last; at++) link(at === first + 1 ? from : laneKey(from, at - 1), laneKey(from, at))
  }
  for (const { id, dependsOn } of nodes) {
    for (const from of dependsOn) {
      if (!items.has(from)) continue
      const via = laneKey(from, layers.get(id)! - 1)
      link(items.has(via) ? via : from, id)
    }
  }
  return columns
}

/** Sorts each column by the middle of what its items are linked to, forwards or backwards through the columns. */
function order(columns: Item[][], isForward: boolean): void {
  const ranks = new Map<string, number>()
  const rank = (column: Item[]) => {
    for (const [at, { key }] of column.entries()) ranks.set(key, at - (column.length - 1) / 2)
  }
  for (const column of isForward ? columns : columns.toReversed()) {
    rank(column)
    const wanted = new Map(
      column.map(({ key, before, after }) => {
        const known = (isForward ? before : after).flatMap((each) => ranks.get(each) ?? [])
        const middle = known.reduce((sum, each) => sum + each, 0) / known.length
        return [key, known.length === 0 ? ranks.get(key)! : middle]
      }),
    )
    column.sort((a, b) => wanted.get(a.key)! - wanted.get(b.key)!)
    rank(column)
  }
}

/** From the right edge of one node by its lane to the left edge of the other. */
function pointsOf(
  from: string,
  to: string,
  layers: ReadonlyMap<string, number>,
  middles: ReadonlyMap<string, Point>,
): Point[] {
  const start = middles.get(from)!
  const end = middles.get(to)!
  const points: Point[] = [{ x: start.x + node.width / 2, y: start.y }]
  for (let layer = layers.get(from)! + 1; layer < layers.get(to)!; layer++) {
    const lane = middles.get(laneKey(from, layer))
    if (lane) points.push({ x: lane.x - node.width / 2, y: lane.y }, { x: lane.x + node.width / 2, y: lane.y })
  }
  points.push({ x: end.x - node.width / 2, y: end.y })
  return points
}
