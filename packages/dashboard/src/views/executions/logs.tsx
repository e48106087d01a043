import { Fragment, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Trouble } from '../../components/answer.tsx'
import { Panel } from '../../components/panel.tsx'
import { clockTime, count } from '../../lib/time.ts'
import { type Line, useLogLines } from './use-log-lines.ts'

/** Nearer to the bottom than this is at the bottom. */
const bottomPx = 24

export function Logs({ executionId, hasEnded }: { executionId: string; hasEnded: boolean }) {
  const { lines, isOver, error } = useLogLines(executionId, useRound(hasEnded))
  const [isFollowing, follow] = useState(true)
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (isFollowing && lines.length > 0) box.current?.scrollTo({ top: box.current.scrollHeight })
  }, [lines, isFollowing])
  const dropped = (lines[0]?.position ?? 1) - 1
  return (
    <Panel
      title="Logs"
      side={
        <span className="flex items-center gap-3">
          {lines.length > 0 && <span>{count(lines.length)} lines</span>}
          {!isOver && (
            <label className="flex items-center gap-1.5">
              <input type="checkbox" checked={isFollowing} onChange={({ target }) => follow(target.checked)} />
              Follow
            </label>
          )}
        </span>
      }
    >
      {error && <Trouble error={error} />}
      {lines.length === 0 ? (
        <p className="px-4 py-3 text-soft">
          {isOver
            ? 'The handler has logged nothing.'
            : 'Nothing is logged yet. Lines appear here about a second after they were written.'}
        </p>
      ) : (
        <div
          ref={box}
          role="log"
          aria-label="Log lines"
          aria-live="off"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
            follow(scrollHeight - scrollTop - clientHeight < bottomPx)
          }
          className="max-h-96 overflow-y-auto bg-sunken/50 px-4 py-2 font-mono text-[13px]"
        >
          {dropped > 0 && <p className="text-soft">{count(dropped)} lines before these are not kept.</p>}
          {lines.map((line, i) => (
            <Fragment key={line.position}>
              {line.attempt !== lines[i - 1]?.attempt && <AttemptHead line={line} />}
              <div className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3">
                <time dateTime={line.at} className="text-soft select-none max-sm:hidden">
                  {timeOf(line)}
                </time>
                <span className="break-words whitespace-pre-wrap max-sm:col-span-2">{line.text}</span>
              </div>
            </Fragment>
          ))}
        </div>
      )}
    </Panel>
  )
}

function AttemptHead({ line: { attempt } }: { line: Line }) {
  return (
    <p className="mt-1 flex items-center gap-2 font-sans text-soft first:mt-0">
      Attempt {attempt}
      <span aria-hidden="true" className="h-px flex-1 bg-line" />
    </p>
  )
}

function timeOf({ at }: Line): string {
  return `${clockTime(new Date(at), { date: false })}.${at.slice(20, 23)}`
}

/** Grows when what had ended was brought back. */
function useRound(hasEnded: boolean): number {
  const [round, next] = useState(0)
  const had = useRef(hasEnded)
  useEffect(() => {
    if (had.current && !hasEnded) next((before) => before + 1)
    had.current = hasEnded
  }, [hasEnded])
  return round
}
