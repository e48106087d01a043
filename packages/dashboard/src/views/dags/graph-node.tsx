/** A step in the drawing, or several folded into one: state by colour and shape; words while they can be read. */
import { type Node, type NodeProps, useStore } from '@xyflow/react'
import { StateIcon, type Tone, toneOf } from '../../components/state-mark.tsx'
import { count } from '../../lib/time.ts'
import type { GraphStep } from './graph-step.ts'
import { Since } from './run-columns.tsx'
import { countsOf } from './steps.ts'

export type StepNode = Node<
  { members: readonly GraphStep[]; isCritical: boolean; isSelected: boolean; isUnderCursor: boolean },
  'step'
>

/** Below this, a word is smaller than seven pixels. */
const leastForWords = 0.5

const frames: Record<Tone, string> = {
  good: 'border-good',
  busy: 'border-busy bg-busy/15',
  wait: 'border-wait border-dashed',
  warn: 'border-warn bg-warn/15',
  bad: 'border-bad bg-bad-soft',
  soft: 'border-soft border-dotted',
}
const fills: Record<Tone, string> = {
  good: 'bg-good',
  busy: 'bg-busy',
  wait: 'bg-wait/60',
  warn: 'bg-warn',
  bad: 'bg-bad',
  soft: 'bg-soft/60',
}

export function StepNodeView({ data: { members, isCritical, isSelected, isUnderCursor } }: NodeProps<StepNode>) {
  const isSmall = useStore(({ transform }) => transform[2] < leastForWords)
  const counts = countsOf(members.flatMap(({ state }) => (state === undefined ? [] : [{ state }])))
  // Of several, the first is what a reader looks for first.
  const tone = counts[0] === undefined ? 'soft' : toneOf(counts[0][0])
  const marked = isSelected ? 'outline-3 outline-accent' : isUnderCursor ? 'outline-3 outline-ink' : ''
  return (
    <div
      className={`relative h-full w-full rounded-md bg-panel ${members.length > 1 ? 'shadow-[3px_3px_0_var(--line)]' : ''}`}
    >
      {isSmall ? (
        <div className={`flex h-full items-center justify-center gap-1 rounded-md ${fills[tone]} ${marked}`}>
          {counts[0] !== undefined && <StateIcon state={counts[0][0]} className="size-9 text-panel" />}
          {members.length > 1 && (
            <span className={`text-2xl font-bold ${counts.length === 0 ? '' : 'text-panel'}`}>
              ×{count(members.length)}
            </span>
          )}
        </div>
      ) : (
        <div
          className={`flex h-full items-center gap-2 rounded-md border-2 px-2.5 ${counts.length === 0 ? 'border-line' : frames[tone]} ${marked}`}
        >
          {members.length === 1 ? <One step={members[0]!} /> : <Several members={members} counts={counts} />}
        </div>
      )}
      {isCritical && <span className="absolute -top-2 right-1.5 text-accent">◆</span>}
    </div>
  )
}

function One({ step: { name, state, about, runsSince } }: { step: GraphStep }) {
  return (
    <>
      {state !== undefined && <StateIcon state={state} className={`size-4 ${textTones[toneOf(state)]}`} />}
      <span className="min-w-0 leading-tight">
        <span className="block truncate font-medium" title={name}>
          {name}
        </span>
        <span className="block truncate text-xs text-soft">
          {runsSince === undefined ? about : <Since at={runsSince} />}
        </span>
      </span>
    </>
  )
}

const textTones: Record<Tone, string> = {
  good: 'text-good',
  busy: 'text-busy',
  wait: 'text-wait',
  warn: 'text-warn',
  bad: 'text-bad',
  soft: 'text-soft',
}

function Several({ members, counts }: { members: readonly GraphStep[]; counts: [string, number][] }) {
  return (
    <span className="min-w-0 leading-tight">
      <span
        className="block truncate font-medium"
        title={`${members[0]!.name} to ${members.at(-1)!.name}. Click to unfold.`}
      >
        {count(members.length)} × {members[0]!.name}…
      </span>
      <span className="flex gap-2 overflow-hidden text-xs whitespace-nowrap text-soft">
        {counts.length === 0
          ? 'unfold'
          : counts.map(([state, many]) => (
              <span key={state} className="inline-flex items-center gap-0.5">
                <StateIcon state={state} className={`size-3 ${textTones[toneOf(state)]}`} />
                {count(many)}
              </span>
            ))}
      </span>
    </span>
  )
}
