/** What an operator should look at, most urgent first, each with the place to look. */
import type { DagRunSummary } from '@carillon/contract'
import type { Load, NodeList, Stats } from '@carillon/contract/api'
import { Link } from '@tanstack/react-router'
import { Panel } from '../../components/panel.tsx'
import { StateIcon } from '../../components/state-mark.tsx'
import { count, duration, percent } from '../../lib/time.ts'
import { objective, onTimeShare } from './now.tsx'

export interface AttentionFinding {
  isUrgent: boolean
  text: string
  to: string
  search?: Record<string, string>
}

/** As long as work may wait before that is worth a word. */
const longWaitMs = 30_000
const clockToleranceMs = 100

/** One page of them: runs of graphs that failed in the last 24 hours. */
interface FailedRuns {
  items: readonly DagRunSummary[]
  nextCursor: string | null
}

export function findings(known: {
  load: Load | undefined
  nodes: NodeList | undefined
  stats: Stats | undefined
  failedRuns: FailedRuns | undefined
}): AttentionFinding[] {
  const found = [...ofPools(known.load), ...ofNodes(known.nodes), ...ofStats(known.stats), ...ofRuns(known.failedRuns)]
  return found.sort((a, b) => Number(b.isUrgent) - Number(a.isUrgent))
}

export function Attention({ findings }: { findings: readonly AttentionFinding[] }) {
  return (
    <Panel title="Needs attention">
      {findings.length === 0 ? (
        <p className="flex items-center gap-2 px-4 py-3">
          <StateIcon state="SUCCEEDED" /> Nothing. Everything runs as it should.
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {findings.map(({ isUrgent, text, to, search }) => (
            <li key={text}>
              <Link to={to} {...(search && { search })} className="flex items-start gap-2 px-4 py-2 hover:bg-sunken">
                <span className="mt-0.5">
                  <StateIcon state={isUrgent ? 'DEAD' : 'PAUSED'} />
                </span>
                <span className="min-w-0">
                  <span className="sr-only">{isUrgent ? 'Urgent: ' : 'Note: '}</span>
                  {text}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function ofPools(load: Load | undefined): AttentionFinding[] {
  return (load?.pools ?? []).flatMap<AttentionFinding>(({ name, paused, ready, workers, oldestReadyMs }) => {
    if (ready === 0) return paused ? [{ isUrgent: false, text: `The pool ${name} is paused.`, to: '/workers' }] : []
    const waiting = `${count(ready)} ${ready === 1 ? 'execution waits' : 'executions wait'}`
    if (paused) return [{ isUrgent: true, text: `The pool ${name} is paused, and ${waiting}.`, to: '/workers' }]
    if (workers === 0)
      return [{ isUrgent: true, text: `${waiting} in the pool ${name}, which no worker serves.`, to: '/workers' }]
    if (oldestReadyMs !== null && oldestReadyMs > longWaitMs)
      return [
        { isUrgent: false, text: `Work in the pool ${name} waits for ${duration(oldestReadyMs)}.`, to: '/workers' },
      ]
    return []
  })
}

function ofNodes(known: NodeList | undefined): AttentionFinding[] {
  if (!known) return []
  const { nodes, shards } = known
  const leaderless =
    shards.leaderless === 0
      ? []
      : [
          {
            isUrgent: true,
            text: `${count(shards.leaderless)} of ${count(shards.count)} shards have no leader: their jobs do not fire.`,
            to: '/workers',
          },
        ]
  const away = nodes.flatMap(({ name, away }) =>
    away.map((server) => ({
      isUrgent: false,
      text: `${name} cannot reach ${server}; PostgreSQL does its work.`,
      to: '/workers',
    })),
  )
  const clocks = nodes
    .filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs ?? 0) > clockToleranceMs)
    .map(({ name, clockOffsetMs }) => ({
      isUrgent: false,
      text: `The clock of ${name} is off by ${duration(Math.abs(clockOffsetMs!))}.`,
      to: '/workers',
    }))
  return [...leaderless, ...away, ...clocks]
}

function ofStats(stats: Stats | undefined): AttentionFinding[] {
  if (!stats) return []
  const onTime = onTimeShare(stats)
  const dead =
    stats.total.dead === 0
      ? []
      : [
          {
            isUrgent: true,
            text: `${count(stats.total.dead)} ${stats.total.dead === 1 ? 'execution' : 'executions'} became dead letters in the last hour.`,
            to: '/dead-letters',
          },
        ]
  const late =
    onTime === null || onTime >= objective
      ? []
      : [
          {
            isUrgent: false,
            text: `${percent(onTime)} fired on time in the last hour; the objective is ${percent(objective)}.`,
            to: '/proof',
          },
        ]
  return [...dead, ...late]
}

function ofRuns(failed: FailedRuns | undefined): AttentionFinding[] {
  if (!failed || failed.items.length === 0) return []
  const many = `${count(failed.items.length)}${failed.nextCursor === null ? '' : ' or more'}`
  const runs = many === '1' ? 'DAG run' : 'DAG runs'
  return [
    {
      isUrgent: true,
      text: `${many} ${runs} failed in the last 24 hours.`,
      to: '/dags',
      search: { state: 'FAILED', range: '24h' },
    },
  ]
}
