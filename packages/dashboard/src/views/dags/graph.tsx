/**
 * A graph drawn from left to right, to be moved and zoomed. React Flow does that and holds the nodes; where they stand, and the edges, are
 * ours. For the keyboard it is one stop: the arrows go along the edges. Everything in it is in the table of steps too.
 */
import { ReactFlow, ReactFlowProvider, useReactFlow, ViewportPortal } from '@xyflow/react'
import '@xyflow/react/dist/base.css'
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Panel } from '../../components/panel.tsx'
import { stateWord } from '../../components/state-mark.tsx'
import { count } from '../../lib/time.ts'
import { isEnd } from '../executions/filter.ts'
import { type FoldedNode, fold } from './fold.ts'
import { GraphEdges } from './graph-edges.tsx'
import { type StepNode, StepNodeView } from './graph-node.tsx'
import type { GraphProps, GraphStep } from './graph-step.ts'
import { layOut, node } from './layout.ts'
import { useFit } from './use-fit.ts'
import { neighbour } from './walk.ts'

const nodeTypes = { step: StepNodeView }
const zooms = { least: 0.03, most: 2 }

export default function Graph(props: GraphProps) {
  return (
    <ReactFlowProvider>
      <Drawn {...props} />
    </ReactFlowProvider>
  )
}

function Drawn({ steps, shape, critical, selected, onSelect }: GraphProps) {
  const [unfolded, unfold] = useState<ReadonlySet<string>>(new Set())
  const [cursor, move] = useState<string | undefined>(undefined)
  // Steps change with every answer, their dependencies with `shape` only.
  const folded = useMemo(() => fold(steps, unfolded), [shape, unfolded])
  const layout = useMemo(() => layOut(folded), [folded])
  const idOf = useMemo(() => new Map(folded.flatMap(({ id, members }) => members.map((name) => [name, id]))), [folded])
  const byName = useMemo(() => new Map(steps.map((step) => [step.name, step])), [steps])
  const criticalIds = useMemo(() => [...new Set(critical.map((name) => idOf.get(name)!))], [critical, idOf])
  const selectedId = selected === undefined ? undefined : idOf.get(selected)
  const flow = useReactFlow()
  const { place, height, fit, isReady, setReady } = useFit(layout)
  const nodes = useNodes(folded, layout, byName, { criticalIds, selectedId, cursor })
  const ended = useEnded(folded, byName)
  const open = useCallback(
    ({ id, members }: FoldedNode) => {
      if (members.length === 1) onSelect(members[0]!)
      else unfold((before) => new Set([...before, id]))
    },
    [onSelect],
  )
  // What is chosen in the table, or by the keys, is brought into sight.
  const looked = cursor ?? selectedId
  useEffect(() => {
    const at = looked === undefined ? undefined : layout.places.get(looked)
    if (!at || !isReady) return
    const { x, y, zoom } = flow.getViewport()
    const { clientWidth, clientHeight } = place.current!
    const [left, top] = [at.x * zoom + x, at.y * zoom + y]
    const isInSight =
      left >= 0 && top >= 0 && left + node.width * zoom <= clientWidth && top + node.height * zoom <= clientHeight
    if (!isInSight) void flow.setCenter(at.x + node.width / 2, at.y + node.height / 2, { zoom })
  }, [looked, layout, isReady, flow, place])
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return
    const from = folded.find(({ id }) => id === (cursor ?? selectedId)) ?? folded[0]!
    if (event.key === 'Enter') open(from)
    else if (event.key === '+') void flow.zoomIn()
    else if (event.key === '-') void flow.zoomOut()
    else if (event.key === '0') fit()
    else if (event.key.startsWith('Arrow')) {
      const isFirst = cursor === undefined && selectedId === undefined
      move(isFirst ? from.id : neighbour(event.key, from, folded, layout.places).id)
    } else return
    event.preventDefault()
  }
  const under = folded.find(({ id }) => id === cursor)
  return (
    <Panel
      title="Graph"
      side={
        <span className="-my-1 inline-flex flex-wrap items-center gap-1">
          {unfolded.size > 0 && (
            <Button kind="quiet" onClick={() => unfold(new Set())}>
              Fold again
            </Button>
          )}
          <Button kind="quiet" aria-label="Zoom out" onClick={() => void flow.zoomOut()}>
            −
          </Button>
          <Button kind="quiet" aria-label="Zoom in" onClick={() => void flow.zoomIn()}>
            +
          </Button>
          <Button kind="quiet" onClick={fit}>
            Fit
          </Button>
        </span>
      }
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move over its steps */}
      <div role="img" tabIndex={0} aria-label={labelOf(steps)} onKeyDown={onKeyDown} onBlur={() => move(undefined)}>
        <div ref={place} aria-hidden="true" style={{ height }}>
          <ReactFlow<StepNode>
            nodes={nodes}
            nodeTypes={nodeTypes}
            onInit={setReady}
            onNodeClick={(_, { id }) => open(folded.find((each) => each.id === id)!)}
            minZoom={zooms.least}
            maxZoom={zooms.most}
            onlyRenderVisibleElements
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable={false}
            elementsSelectable={false}
            disableKeyboardA11y
            // The wheel scrolls the page; with Ctrl, or two fingers, it zooms.
            zoomOnScroll={false}
            preventScrolling={false}
            zoomOnDoubleClick={false}
            proOptions={{ hideAttribution: true }}
          >
            <ViewportPortal>
              <GraphEdges layout={layout} hasEnded={ended} critical={criticalIds} selected={cursor ?? selectedId} />
            </ViewportPortal>
          </ReactFlow>
        </div>
      </div>
      <p className="min-h-5 border-t border-line px-4 py-1.5 text-soft" aria-live="polite">
        {under ? cursorText(under, byName) : hintOf(folded, critical)}
      </p>
    </Panel>
  )
}

/** The objects of React Flow; one whose step has not changed stays the same, so that it is not drawn again. */
function useNodes(
  folded: readonly FoldedNode[],
  { places }: ReturnType<typeof layOut>,
  byName: ReadonlyMap<string, GraphStep>,
  marks: { criticalIds: readonly string[]; selectedId: string | undefined; cursor: string | undefined },
): StepNode[] {
  const before = useRef(new Map<string, { seen: string; node: StepNode }>())
  const critical = new Set(marks.criticalIds)
  const now = new Map<string, { seen: string; node: StepNode }>()
  for (const { id, members } of folded) {
    const data = {
      members: members.map((name) => byName.get(name)!),
      isCritical: critical.has(id),
      isSelected: id === marks.selectedId,
      isUnderCursor: id === marks.cursor,
    }
    const position = places.get(id)!
    const seen = JSON.stringify([data, position])
    const known = before.current.get(id)
    now.set(id, known?.seen === seen ? known : { seen, node: { id, type: 'step', position, data, ...node } })
  }
  before.current = now
  const seen = [...now.values()].map((each) => each.seen).join()
  return useMemo(() => [...now.values()].map((each) => each.node), [seen])
}

function useEnded(folded: readonly FoldedNode[], byName: ReadonlyMap<string, GraphStep>): ReadonlySet<string> {
  const ended = folded
    .filter(({ members }) => members.every((name) => hasEnded(byName.get(name)!.state)))
    .map(({ id }) => id)
  const seen = ended.join()
  return useMemo(() => new Set(ended), [seen])
}

/** In a definition nothing is left to wait for. */
function hasEnded(state: string | undefined): boolean {
  return state === undefined || isEnd(state)
}

function labelOf(steps: readonly GraphStep[]): string {
  return `Graph of ${count(steps.length)} steps, which the table of steps holds too. Arrow keys go along it, Enter opens a step.`
}

function cursorText({ id, members, dependsOn }: FoldedNode, byName: ReadonlyMap<string, GraphStep>): string {
  const { state } = byName.get(members[0]!)!
  const what =
    members.length > 1
      ? `${count(members.length)} steps, Enter unfolds them`
      : state === undefined
        ? ''
        : stateWord(state)
  const after =
    dependsOn.length === 0
      ? 'depends on nothing'
      : `depends on ${dependsOn.slice(0, 3).join(', ')}${dependsOn.length > 3 ? ` and ${dependsOn.length - 3} more` : ''}`
  return `${members.length > 1 ? members[0] : id}: ${[what, after].filter(Boolean).join(', ')}.`
}

function hintOf(folded: readonly FoldedNode[], critical: readonly string[]): string {
  const hints = [
    ...(critical.length > 1 ? ['◆ and the thick line mark the critical path.'] : []),
    ...(folded.some(({ members }) => members.length > 1)
      ? ['Steps that stand alike are folded; a click unfolds them.']
      : []),
    'Drag to move, Ctrl and wheel to zoom.',
  ]
  return hints.join(' ')
}
