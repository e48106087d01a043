/** The comparison on request: a part at a time, each bounded, of one tenant. */
import { CarillonError, type Finding as WireFinding, type Verification as WireVerification } from '@carillon/contract'
import { isId } from '../domain/identity.ts'
import { isoTime } from '../lib/iso-time.ts'
import type { Database } from '../store/database.ts'
import { readHorizon } from '../store/verification/progress.ts'
import { readLosses } from '../store/verification/receipts.ts'
import { type Check, checkPage, firstPosition, type Position } from './page.ts'
import { addTally, emptyTally, type Finding } from './tally.ts'

/** Pages in a part: one or two seconds of work, [m] 20 to 57 ms a page on a node that fires 2,000 a second. */
const pagesPerPart = 40

/** `cursor` of the part before; null: the first one. */
export async function verifyPart(database: Database, asked: Check, cursor: string | null): Promise<WireVerification> {
  const begun = cursor === null ? { to: asked.to, position: firstPosition } : decode(cursor)
  const check = { ...asked, to: Math.min(begun.to, Math.floor(asked.now)) }
  const tally = emptyTally()
  let position: Position | null = begun.position
  for (let pages = 0; position !== null && pages < pagesPerPart; pages++) {
    const page = await checkPage(database, check, position)
    addTally(tally, page.tally, asked.listed)
    position = page.next
  }
  const { floor } = await readHorizon(database)
  const { checked, missed, doubled, stuck, wrong, open, late, skipped, pending, findings, lost } = tally
  const commits = position === null ? await readLosses(database, check) : []
  return {
    from: isoTime(check.from),
    to: isoTime(check.to),
    ...{ checked, missed, doubled, stuck, wrong, open, late, skipped, pending },
    lost: {
      submissions: lost.submissions,
      minutes: lost.minutes.map(({ minute, ...counts }) => ({ minute: isoTime(minute), ...counts })),
      commits: commits.map(({ keptUntil, seenUntil }) => ({ after: isoTime(keptUntil), until: isoTime(seenUntil) })),
    },
    outsideHistory: { before: check.from < floor ? isoTime(floor) : null, jobs: tally.outsideHistory.jobs },
    findings: findings.map(wireOf),
    nextCursor: position && encode({ to: check.to, position }),
  }
}

function wireOf({ kind, why, jobId, scheduledFor, executionId }: Finding): WireFinding {
  return { kind, why, jobId, scheduledFor: isoTime(scheduledFor), executionId }
}

interface Place {
  to: number
  position: Position
}

function encode({ to, position }: Place): string {
  return Buffer.from([to, ...partsOf(position)].join(' ')).toString('base64url')
}

const noId = firstPosition.jobId

function partsOf(position: Position): (string | number)[] {
  if (position.at === 'JOBS') return ['J', position.jobId, position.nominal]
  return position.at === 'ROWS' ? ['R', position.afterId, 0] : ['M', noId, position.minute]
}

function decode(cursor: string): Place {
  const [to, at, id = '', nominal, ...more] = Buffer.from(cursor, 'base64url').toString().split(' ')
  const times = [Number(to), Number(nominal)]
  const whole = times.every((time) => Number.isSafeInteger(time) && time >= 0 && time < 2 ** 47)
  if (!whole || !isId(id) || !/^[JRM]$/.test(at ?? '') || more.length > 0) {
    throw new CarillonError('VALIDATION', {
      pointer: '/cursor',
      message: 'is not a cursor of this comparison',
      hint: 'Give `nextCursor` of the part before, as it is, or leave it out to start over',
    })
  }
  const [end, time] = times as [number, number]
  if (at === 'J') return { to: end, position: { at: 'JOBS', jobId: id, nominal: time } }
  return { to: end, position: at === 'R' ? { at: 'ROWS', afterId: id } : { at: 'MINUTES', minute: time } }
}
