import type { Forecast } from '@carillon/contract/api'
import { Panel } from '../../components/panel.tsx'
import { StateIcon } from '../../components/state-mark.tsx'
import { clockTime, count, duration, shortCount } from '../../lib/time.ts'

/** The load that each pool is to expect, and when that is more than its workers can take. */
export function PoolsAhead({ forecast: { pools, step } }: { forecast: Forecast }) {
  return (
    <Panel title="Pools" side="from measured durations">
      <ul className="divide-y divide-line">
        {pools.map(({ pool, fires, slots, meanMs, buckets }) => {
          const saturated = buckets.filter((bucket) => bucket.saturated)
          const peak = Math.max(0, ...buckets.map(({ busy }) => busy ?? 0))
          return (
            <li key={pool} className="px-4 py-2">
              <div className="flex justify-between gap-3">
                <span className="min-w-0 truncate font-medium">{pool}</span>
                <span className="text-soft">
                  {shortCount(fires)} fires, {meanMs === null ? 'never measured' : `${duration(meanMs)} each`}
                </span>
              </div>
              {saturated.length > 0 ? (
                <p className="flex items-start gap-1.5 text-bad">
                  <span className="mt-0.5">
                    <StateIcon state="DEAD" />
                  </span>
                  Saturated in {count(saturated.length)} {step === 'MINUTE' ? 'minutes' : 'hours'}, first at{' '}
                  {clockTime(new Date(saturated[0]!.at), { seconds: false })}: {peak.toFixed(1)} slots wanted, {slots}{' '}
                  there
                </p>
              ) : (
                <p className="text-soft">
                  At most {peak.toFixed(peak < 10 ? 1 : 0)} of {count(slots)} slots busy on average
                </p>
              )}
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}
