import type { Job } from '@carillon/contract'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { CopyButton } from '../../components/copy-button.tsx'
import { Facts } from '../../components/panel.tsx'
import { Time } from '../../components/time.tsx'
import { count, duration } from '../../lib/time.ts'
import { Labels } from './labels.tsx'
import { targetText } from './target.ts'
import { NextFire, Timing } from './timing.tsx'

const overlaps = {
  ALLOW: 'Runs beside an unfinished one',
  FORBID: 'Skipped while one is unfinished',
  QUEUE_ONE: 'One waits for the unfinished one',
  REPLACE: 'Cancels the unfinished one',
} as const
const misfires = {
  FIRE_ONCE: 'One run for all missed',
  FIRE_ALL: 'A run for each missed',
  SKIP: 'Missed ones are skipped',
} as const

export function JobFacts({ of: job }: { of: Job }) {
  const { retryPolicy: retry } = job
  const seconds = (name: string, value: number | null): [string, ReactNode][] =>
    value === null ? [] : [[name, duration(value * 1_000)]]
  const time = (name: string, at: string | null): [string, ReactNode][] =>
    at === null ? [] : [[name, <Time key={name} at={at} exact zone={job.timezone} />]]
  return (
    <Facts
      facts={[
        ['Schedule', <Timing key="timing" of={job} />],
        ['Next fire', <NextFire key="next" of={job} />],
        ['Runs', <Runs key="target" of={job} />],
        ['Priority', sentence(job.priority)],
        [
          'Attempts',
          `${count(retry.maxAttempts)}, ${sentence(retry.backoff).toLowerCase()} from ${duration(retry.initialDelayMs)}`,
        ],
        ...seconds('Timeout', job.timeoutSec),
        ...seconds('Deadline', job.deadlineSec),
        ...seconds('Heartbeat within', job.heartbeatTimeoutSec),
        ...seconds('Start within', job.startWithinSec),
        ...(job.jitterSec > 0
          ? seconds(job.jitterBy === 'TENANT' ? 'Jitter of the tenant, up to' : 'Jitter, up to', job.jitterSec)
          : []),
        ['Overlap', overlaps[job.overlap]],
        ['Misfire', misfires[job.misfire]],
        ...(job.delivery === 'AT_MOST_ONCE' ? ([['Delivery', 'At most once']] as [string, ReactNode][]) : []),
        ...time('From', job.startAt),
        ...time('Until', job.endAt),
        ...(job.maxFires === null ? [] : ([['At most', `${count(job.maxFires)} fires`]] as [string, ReactNode][])),
        ...(job.pauseAfterFailures === null
          ? []
          : ([['Pauses after', `${count(job.pauseAfterFailures)} dead in a row`]] as [string, ReactNode][])),
        ...(Object.keys(job.labels).length === 0
          ? []
          : ([['Labels', <Labels key="labels" of={job.labels} />]] as [string, ReactNode][])),
        ...(job.managedBy === null ? [] : ([['Managed by', job.managedBy]] as [string, ReactNode][])),
        ['Created', <Time key="created" at={job.createdAt} />],
        ['Id', <Id key="id" of={job.jobId} />],
      ]}
    />
  )
}

function Runs({ of }: { of: Job }) {
  const { pool } = of.target
  return (
    <>
      <span className="font-mono text-[13px] break-all">{targetText(of)}</span>
      {pool !== undefined && (
        <>
          {' in '}
          <Link to="/workers" className="text-accent underline">
            {pool}
          </Link>
        </>
      )}
    </>
  )
}

function Id({ of }: { of: string }) {
  return (
    <>
      <span className="font-mono text-[13px] break-all">{of}</span> <CopyButton text={of} name="the id" />
    </>
  )
}

function sentence(word: string): string {
  return word.charAt(0) + word.slice(1).toLowerCase()
}
