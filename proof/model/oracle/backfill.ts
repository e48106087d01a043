/**
 * Backfills: what the schedule has passed and nothing stands for is run, and what was SKIPPED if asked for. A SKIPPED row
 * that stands for several occurrences is cut, so that every occurrence is in exactly one row.
 */
import { idAt, settle } from './jobs.ts'
import { after, birth, comeBack } from './life.ts'
import { isBusy } from './overlap.ts'
import { anew } from './people.ts'
import { nextAfter, occurrencesFrom } from './schedule.ts'
import { type Backfill, type Execution, isOpen, type World } from './world.ts'

const lowLane = 3

/** Goes on as far as it may. */
export function goOn(world: World, backfill: Backfill): void {
  const { job, concurrency } = backfill
  if (job.state === 'DELETED' || job.state === 'GONE') {
    backfill.state = 'FAILED'
    return
  }
  settle(world, job)
  backfill.open = backfill.open.filter(isOpen)
  let over = false
  while (!over && backfill.open.length < concurrency) {
    const nominal = isSpent(backfill) ? null : nextMissing(world, backfill)
    over = nominal === null
    if (nominal === null || isBusy(job)) break
    backfill.open.push(fill(world, backfill, nominal))
    backfill.position = nominal
    backfill.done++
  }
  if (over && backfill.open.length === 0) backfill.state = 'SUCCEEDED'
}

function isSpent({ job }: Backfill): boolean {
  const { maxFires } = job.definition
  return maxFires !== null && job.fires >= maxFires
}

/** The next occurrence that is to be filled; null: none is left. */
function nextMissing(world: World, { job, from, to, position, includeSkipped }: Backfill): number | null {
  // What the schedule has not passed yet is its own to fire.
  const end = Math.min(to, job.nominal ?? Number.POSITIVE_INFINITY)
  const first = nextAfter(job.definition, position ?? from - 1)
  if (first === null) return null
  for (const nominal of occurrencesFrom(job.definition, first, end - 1)) {
    const row = world.executions.get(idAt(job, nominal))
    const cover = coverOf(world, job.id, nominal)
    if (cover ? includeSkipped : !row) return nominal
  }
  return null
}

/** The SKIPPED row that stands for an occurrence. */
function coverOf(world: World, jobId: string, nominal: number): Execution | null {
  for (const execution of world.executions.values()) {
    const { job, origin, place, scheduledFor, skipped } = execution
    if (job?.id !== jobId || origin === 'TRIGGER' || place.in !== 'ledger' || place.state !== 'SKIPPED') continue
    if (scheduledFor <= nominal && nominal <= (skipped?.last ?? scheduledFor)) return execution
  }
  return null
}

function fill(world: World, { job }: Backfill, nominal: number): Execution {
  const { work } = job.definition
  const cover = coverOf(world, job.id, nominal)
  const old = cover && { ...cover }
  const execution = birth(world, {
    ...{ id: idAt(job, nominal), job, origin: 'BACKFILL', work, lane: lowLane },
    ...{ scheduledFor: nominal, dueAt: nominal + job.jitterMs },
    expiresAt: after(world.now, work.startWithinSec),
  })
  execution.firedAt = old?.firedAt ?? world.now
  if (old) {
    execution.timeline = [...(old.id === execution.id ? old.timeline : []), 'PENDING BACKFILLED']
    cut(world, cover!, old, execution)
  }
  anew(execution)
  job.fires++
  if (job.definition.overlap !== 'ALLOW') job.counted.add(execution)
  comeBack(execution, world.now, 'PENDING')
  return execution
}

/** What is left of a row after one of its occurrences has a row of its own. */
function cut(world: World, cover: Execution, old: Execution, taken: Execution): void {
  const { definition } = taken.job!
  const last = old.skipped?.last ?? old.scheduledFor
  const count = old.skipped?.count ?? 1
  const head = occurrencesFrom(definition, old.scheduledFor, taken.scheduledFor - 1)
  if (head.length > 0) cover.skipped = { last: head.at(-1)!, count: head.length }
  const next = nextAfter(definition, taken.scheduledFor)
  const left = count - head.length - 1
  if (next === null || next > last || left < 1) return
  const tail = birth(world, {
    ...{ id: idAt(taken.job!, next), job: taken.job, origin: old.origin, work: old.work, lane: old.lane },
    ...{ scheduledFor: next, dueAt: next + taken.job!.jitterMs, expiresAt: null },
  })
  tail.version = old.version
  tail.firedAt = old.firedAt
  tail.skipped = { last, count: left }
  tail.place = old.place
}

export function beginBackfill(world: World, asked: Omit<Backfill, 'position' | 'open' | 'done' | 'state'>): Backfill {
  const backfill: Backfill = { ...asked, position: null, open: [], done: 0, state: 'RUNNING' }
  world.backfill = backfill
  return backfill
}
