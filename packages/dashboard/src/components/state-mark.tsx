/** States by colour and shape, so that none is told by colour alone. */
import type { ReactNode } from 'react'

export type Tone = 'good' | 'busy' | 'wait' | 'warn' | 'bad' | 'soft'

const marks: Record<string, { tone: Tone; shape: keyof typeof shapes; word?: string }> = {
  SUCCEEDED: { tone: 'good', shape: 'tick', word: 'Succeeded' },
  RUNNING: { tone: 'busy', shape: 'half', word: 'Running' },
  PENDING: { tone: 'wait', shape: 'ring', word: 'Pending' },
  BLOCKED: { tone: 'wait', shape: 'square', word: 'Blocked' },
  FAILED: { tone: 'warn', shape: 'turn', word: 'Failed, will retry' },
  TIMED_OUT: { tone: 'warn', shape: 'turn', word: 'Timed out, will retry' },
  WORKER_LOST: { tone: 'warn', shape: 'turn', word: 'Worker lost, will retry' },
  DEAD: { tone: 'bad', shape: 'cross', word: 'Dead' },
  RUN_FAILED: { tone: 'bad', shape: 'cross', word: 'Failed' },
  CANCELLING: { tone: 'warn', shape: 'bar', word: 'Cancelling' },
  CANCELLED: { tone: 'soft', shape: 'bar', word: 'Cancelled' },
  SKIPPED: { tone: 'soft', shape: 'skip', word: 'Skipped' },
  ACTIVE: { tone: 'good', shape: 'dot', word: 'Active' },
  PAUSED: { tone: 'warn', shape: 'pause', word: 'Paused' },
  COMPLETED: { tone: 'soft', shape: 'tick', word: 'Completed' },
  DELETED: { tone: 'soft', shape: 'cross', word: 'Deleted' },
  LIVE: { tone: 'good', shape: 'dot', word: 'Live' },
  DRAINING: { tone: 'wait', shape: 'half', word: 'Draining' },
  SUSPECT: { tone: 'warn', shape: 'ring', word: 'Suspect' },
  LOST: { tone: 'bad', shape: 'cross', word: 'Lost' },
}

const shapes = {
  dot: <circle cx="8" cy="8" r="4.5" fill="currentColor" />,
  ring: <circle cx="8" cy="8" r="4.5" fill="none" stroke="currentColor" strokeWidth="2" />,
  half: (
    <>
      <circle cx="8" cy="8" r="5" fill="none" stroke="currentColor" strokeWidth="2" />
      <path d="M8 3a5 5 0 0 1 0 10z" fill="currentColor" />
    </>
  ),
  square: <rect x="3.500" y="3.500" width="9" height="9" fill="none" stroke="currentColor" strokeWidth="2" />,
  tick: <path d="M3 8.500l3.500 3.500L13 4.500" fill="none" stroke="currentColor" strokeWidth="2.500" />,
  cross: <path d="M4 4l8 8M12 4l-8 8" fill="none" stroke="currentColor" strokeWidth="2.500" />,
  bar: <path d="M3 8h10" fill="none" stroke="currentColor" strokeWidth="2.500" />,
  pause: <path d="M5.500 3.500v9M10.500 3.500v9" fill="none" stroke="currentColor" strokeWidth="2.500" />,
  skip: <path d="M3 4l5 4-5 4zM8 4l5 4-5 4z" fill="currentColor" />,
  turn: (
    <>
      <path d="M12.500 8A4.500 4.500 0 1 1 11 4.600" fill="none" stroke="currentColor" strokeWidth="2" />
      <path d="M13.500 2.500v4h-4z" fill="currentColor" />
    </>
  ),
} satisfies Record<string, ReactNode>

const tones: Record<Tone, string> = {
  good: 'text-good',
  busy: 'text-busy',
  wait: 'text-wait',
  warn: 'text-warn',
  bad: 'text-bad',
  soft: 'text-soft',
}

export function stateWord(state: string): string {
  return marks[state]?.word ?? state
}

export function toneOf(state: string): Tone {
  return marks[state]?.tone ?? 'soft'
}

/** `className` sets another size, and another colour if it stands on one. */
export function StateIcon({ state, className }: { state: string; className?: string }) {
  const { tone, shape } = marks[state] ?? { tone: 'soft' as const, shape: 'dot' as const }
  return (
    <svg
      viewBox="0 0 16 16"
      className={`inline-block shrink-0 self-center ${className ?? `size-3.5 ${tones[tone]}`}`}
      aria-hidden="true"
    >
      {shapes[shape]}
    </svg>
  )
}

export function StateMark({ state }: { state: string }) {
  return (
    <span className="inline-flex items-baseline gap-1.5 whitespace-nowrap">
      <StateIcon state={state} />
      {stateWord(state)}
    </span>
  )
}
