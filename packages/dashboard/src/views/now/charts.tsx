import type { Stats } from '@carillon/contract/api'
import { Chart } from '../../components/chart.tsx'
import { Panel } from '../../components/panel.tsx'
import { count, duration, shortCount } from '../../lib/time.ts'

const minute = 60_000

/** The last hour by the minute: what ended, and how late it fired. */
export function Charts({ stats }: { stats: Stats }) {
  const buckets = filled(stats)
  const times = buckets.map(({ at }) => at / 1_000)
  const pick = (of: (bucket: Stats['buckets'][number]) => number | null, none: number | null) =>
    buckets.map(({ bucket }) => (bucket ? of(bucket) : none))
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <Panel title="Executions per minute" side={`${shortCount(stats.total.succeeded + stats.total.dead)} in the hour`}>
        <Chart
          times={times}
          format={shortCount}
          label={`In the last hour ${count(stats.total.succeeded)} executions succeeded, ${count(stats.total.failed)} attempts failed.`}
          series={[
            { name: 'Succeeded', colour: 'good', fill: true, values: pick(({ succeeded }) => succeeded, 0) },
            { name: 'Failed attempts', colour: 'bad', values: pick(({ failed }) => failed, 0) },
          ]}
        />
      </Panel>
      <Panel title="Lateness" side="of scheduled fires">
        <Chart
          times={times}
          format={duration}
          label={`Half of the fires of the last hour were at most ${duration(stats.total.lateness.p50Ms)} late, 99 of 100 at most ${duration(stats.total.lateness.p99Ms)}.`}
          series={[
            { name: 'Median', colour: 'busy', values: pick(({ lateness }) => lateness.p50Ms, null) },
            { name: 'p99', colour: 'accent', values: pick(({ lateness }) => lateness.p99Ms, null) },
          ]}
        />
      </Panel>
    </div>
  )
}

/** Every minute, also those in which nothing happened; the one that goes on is left out. */
function filled({ buckets, from, to }: Stats): { at: number; bucket: Stats['buckets'][number] | undefined }[] {
  const known = new Map(buckets.map((bucket) => [Date.parse(bucket.at), bucket]))
  const first = Math.floor(Date.parse(from) / minute) * minute
  const length = Math.max(0, Math.floor((Date.parse(to) - first) / minute) - 1)
  return Array.from({ length }, (_, i) => first + i * minute).map((at) => ({ at, bucket: known.get(at) }))
}
