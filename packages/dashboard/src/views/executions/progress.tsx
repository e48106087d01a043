import { Json } from '../../components/json.tsx'
import { Panel } from '../../components/panel.tsx'
import { ProgressBar } from '../../components/progress-bar.tsx'
import { count } from '../../lib/time.ts'

/** What a handler reported with `ctx.heartbeat`: a bar if it says a share, else as it is. */
export function Progress({ progress }: { progress: unknown }) {
  const known = shareOf(progress)
  return (
    <Panel title="Progress" {...(known && { side: known.words })}>
      {known ? (
        <div className="px-4 py-3">
          <ProgressBar share={known.share} label="Progress of the handler" />
        </div>
      ) : (
        <Json name="As reported" value={progress} />
      )}
    </Panel>
  )
}

/** A number from 0 to 1, `{ done, total }`, or `{ percent }`. */
export function shareOf(progress: unknown): { share: number; words: string } | null {
  if (typeof progress === 'number') return progress >= 0 && progress <= 1 ? percentOf(progress) : null
  if (typeof progress !== 'object' || progress === null) return null
  const { done, total, percent } = progress as Record<string, unknown>
  if (typeof done === 'number' && typeof total === 'number' && total > 0) {
    return { share: done / total, words: `${count(done)} of ${count(total)}` }
  }
  return typeof percent === 'number' ? percentOf(percent / 100) : null
}

function percentOf(share: number): { share: number; words: string } {
  return { share, words: `${Math.round(share * 100)} %` }
}
