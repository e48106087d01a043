/** When a job fires, as a cell or a fact: words and the text behind them, and the zone it is read in. */
import type { Job } from '@carillon/contract'
import { Time, useNow } from '../../components/time.tsx'
import { timingInWords, timingText } from './schedule-words.ts'

/** `stacked`: the exact form on a line of its own, as in a list. */
export function Timing({ of, stacked = false }: { of: Job; stacked?: boolean }) {
  const words = timingInWords(of)
  const text = timingText(of)
  return (
    <span className="min-w-0">
      {words !== null && <span className="mr-1.5">{words}</span>}
      <span className={`text-soft ${stacked && words !== null ? 'sm:block' : ''}`}>
        {text !== '' && (
          <code className={`font-mono text-[13px] whitespace-nowrap ${words === null ? 'text-ink' : ''}`}>{text}</code>
        )}
        {hasZone(of) && <span className="whitespace-nowrap"> {of.timezone}</span>}
      </span>
    </span>
  )
}

function hasZone({ type, interval, runAtLocal }: Job): boolean {
  if (type === 'INTERVAL') return /^P(?!T)/.test(interval ?? '')
  return type === 'CRON' || runAtLocal !== null
}

/** `in 5 min`, and the time on the clock of the job's zone. */
export function NextFire({ of, stacked = false }: { of: Job; stacked?: boolean }) {
  const now = useNow()
  const { nextFireAt, nextFireLocal, timezone } = of
  if (nextFireAt === null) return <span className="text-soft">–</span>
  const isDue = Date.parse(nextFireAt) <= now.getTime()
  return (
    <span>
      {isDue ? 'now' : <Time at={nextFireAt} zone={timezone} />}{' '}
      <span className={`text-soft ${stacked ? 'sm:block' : ''}`}>
        {nextFireLocal?.slice(0, 19).replace('T', ' ').replace(/:00$/, '')} {zoneName(new Date(nextFireAt), timezone)}
      </span>
    </span>
  )
}

/** As short as the clock of the zone is called at that time: EST, GMT+1. */
function zoneName(at: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'short' }).formatToParts(at)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
}
