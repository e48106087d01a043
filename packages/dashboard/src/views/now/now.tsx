/** What is happening, and what needs attention. */
import type { Load, NodeList, Stats } from '@carillon/contract/api'
import { Answer } from '../../components/answer.tsx'
import { Figure, Heading, Panel } from '../../components/panel.tsx'
import { useNow } from '../../components/time.tsx'
import { useAsk } from '../../lib/queries.ts'
import { count, duration, percent, shortCount } from '../../lib/time.ts'
import { Attention, findings } from './attention.tsx'
import { Charts } from './charts.tsx'
import { Depths } from './depths.tsx'
import { Failures } from './failures.tsx'
import { Running } from './running.tsx'

const minute = 60_000
/** What is watched is asked for this often; what grows by the minute, less often. */
const watchedMs = 3_000
const grownMs = 10_000
/** Failed runs of graphs: of a day, and at most a page of them. */
const failedRunsMs = 30_000
const failedRunsMost = 50

export default function Now() {
  const from = Math.floor(useNow().getTime() / minute) * minute - 60 * minute
  const load = useAsk('getLoad', {}, { everyMs: watchedMs })
  const nodes = useAsk('listNodes', {}, { everyMs: grownMs })
  const stats = useAsk(
    'getStats',
    { query: { step: 'MINUTE', from: new Date(from).toISOString() } },
    { everyMs: grownMs },
  )
  const failedRuns = useAsk(
    'listDagRuns',
    { query: { state: 'FAILED', from: new Date(from - 23 * 60 * minute).toISOString(), limit: failedRunsMost } },
    { everyMs: failedRunsMs },
  )
  return (
    <>
      <Heading title="Now" about={<Summary load={load.data} stats={stats.data} />} />
      <div className="grid items-start gap-4 xl:grid-cols-3 xl:grid-rows-[auto_1fr]">
        <div className="min-w-0 xl:col-start-3">
          <Attention
            findings={findings({ load: load.data, nodes: nodes.data, stats: stats.data, failedRuns: failedRuns.data })}
          />
        </div>
        <div className="min-w-0 space-y-4 xl:col-span-2 xl:col-start-1 xl:row-span-2 xl:row-start-1">
          <Panel>
            <Answer of={load}>{(answer) => <Figures load={answer} stats={stats.data} nodes={nodes.data} />}</Answer>
          </Panel>
          <Answer of={stats}>{(answer) => <Charts stats={answer} />}</Answer>
          <Running />
        </div>
        <div className="min-w-0 space-y-4 xl:col-start-3">
          <Panel title="Pools">
            <Answer of={load}>{(answer) => <Depths load={answer} />}</Answer>
          </Panel>
          <Failures />
        </div>
      </div>
    </>
  )
}

/** The state of things in one sentence. */
function Summary({ load, stats }: { load: Load | undefined; stats: Stats | undefined }) {
  if (!load) return null
  const { running, ready } = sums(load)
  const onTime = stats && onTimeShare(stats)
  return (
    <>
      {count(running)} running, {count(ready)} ready to start
      {onTime !== null && onTime !== undefined && <>, {percent(onTime)} on time in the last hour</>}.
    </>
  )
}

function Figures({ load, stats, nodes }: { load: Load; stats: Stats | undefined; nodes: NodeList | undefined }) {
  const { running, ready, retrying, slots, workers, oldestMs } = sums(load)
  const onTime = stats ? onTimeShare(stats) : null
  const last = stats && lastMinute(stats)
  return (
    <div className="grid grid-cols-2 divide-line sm:grid-cols-4">
      <Figure name="Running" value={shortCount(running)} about={`of ${shortCount(slots)} slots`} />
      <Figure
        name="Ready"
        value={shortCount(ready)}
        about={oldestMs === null ? 'nothing waits' : `oldest ${duration(oldestMs)}`}
        tone={ready > 0 && slots === 0 ? 'warn' : 'ink'}
      />
      <Figure name="Retrying" value={shortCount(retrying)} about="wait for another attempt" />
      <Figure
        name="Workers"
        value={shortCount(workers)}
        about={nodes ? `${nodes.nodes.length} ${nodes.nodes.length === 1 ? 'node' : 'nodes'}` : undefined}
        tone={workers === 0 ? 'warn' : 'ink'}
      />
      <Figure
        name="Succeeded"
        value={last === undefined ? '–' : shortCount(last)}
        about={stats ? `last minute; ${shortCount(stats.total.succeeded)} in the hour` : undefined}
      />
      <Figure
        name="Failed attempts"
        value={stats ? shortCount(stats.total.failed) : '–'}
        about="last hour"
        tone={stats && stats.total.failed > 0 ? 'warn' : 'ink'}
      />
      <Figure
        name="Dead letters"
        value={stats ? shortCount(stats.total.dead) : '–'}
        about="last hour"
        tone={stats && stats.total.dead > 0 ? 'bad' : 'ink'}
      />
      <Figure
        name="On time"
        value={onTime === null ? '–' : percent(onTime)}
        about="within 1 s; objective 99.9 %"
        tone={onTime === null ? 'ink' : onTime >= objective ? 'good' : 'bad'}
      />
    </div>
  )
}

/** The last whole one: `to` ends the minute that goes on. Minutes in which nothing happened are left out of the answer. */
function lastMinute({ buckets, to }: Stats): number {
  const whole = Date.parse(to) - 2 * minute
  return buckets.find(({ at }) => Date.parse(at) === whole)?.succeeded ?? 0
}

export const objective = 0.999

/** Null: nothing was due. */
export function onTimeShare({ total }: Stats): number | null {
  return total.lateness.count === 0 ? null : total.onTime / total.lateness.count
}

function sums({ pools }: Load) {
  const sum = (of: 'ready' | 'running' | 'retrying' | 'slots' | 'workers') =>
    pools.reduce((total, pool) => total + pool[of], 0)
  const waits = pools.flatMap(({ oldestReadyMs }) => (oldestReadyMs === null ? [] : [oldestReadyMs]))
  return {
    ready: sum('ready'),
    running: sum('running'),
    retrying: sum('retrying'),
    slots: sum('slots'),
    workers: sum('workers'),
    oldestMs: waits.length === 0 ? null : Math.max(...waits),
  }
}
