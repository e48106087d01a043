/** The lines of an execution's handler as they come; those that are there already come first. */
import { useEffect, useState } from 'react'
import { follow } from '../../lib/stream.ts'
import { executionChanged, heardProgress } from './use-execution.ts'

export interface Line {
  /** Its number among all lines; 1 is the first. */
  position: number
  at: string
  attempt: number
  text: string
}

export interface LogLines {
  lines: Line[]
  /** The stream has said that no more come. */
  isOver: boolean
  error: Error | null
}

const nothing: LogLines = { lines: [], isOver: false, error: null }

/** `round` is another one after a replay: then lines come again. */
export function useLogLines(executionId: string, round: number): LogLines {
  const [log, set] = useState(nothing)
  // A replay opens the stream again.
  useEffect(() => {
    const stop = new AbortController()
    const lines: Line[] = []
    let frame = 0
    // However many come at once: drawn once a frame.
    const draw = (more: Partial<LogLines> = {}) => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => set((before) => ({ ...before, ...more, lines: [...lines] })))
    }
    set(nothing)
    follow(
      'getExecutionLogs',
      { params: { executionId }, query: { follow: true }, signal: stop.signal },
      ({ event, data, id }) => {
        const said = JSON.parse(data)
        if (event === 'line') {
          lines.push({ ...said, position: Number(id) })
          draw()
        } else if (event === 'progress') {
          heardProgress(executionId, said.progress)
        } else if (event === 'end') {
          draw({ isOver: true })
          void executionChanged()
          return 'END'
        }
        return undefined
      },
    ).catch((error: Error) => {
      if (!stop.signal.aborted) draw({ error })
    })
    return () => {
      stop.abort()
      cancelAnimationFrame(frame)
    }
  }, [executionId, round])
  return log
}
