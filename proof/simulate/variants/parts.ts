/** Defects in what a node does: in what it sends to its database, in what it makes of the answer, in its settings. */
import type { Variant } from './variant.ts'

/** Array parameters of `fire`: see packages/server/src/store/schedules/fire.ts and arrays.ts. */
const occurrenceIds = 9
const headerBytes = 20
const elementBytes = 4 + 16

export const partVariants: Variant[] = [
  {
    name: 'retries-in-memory',
    what: 'A retry is kept in the memory of the node that was told of the failure.',
    tamper: () => ({
      async after(name, rows, database) {
        if (name !== 'report' || rows[0]?.retry_due == null) return
        const taken = await database.query<{ row: object; due: number }>(
          null,
          `delete from carillon.retries r where r.state <> 'PENDING' returning to_jsonb(r) row, carillon.ms(r.due) due`,
        )
        const putBack = (row: object) =>
          database
            .query(
              null,
              'insert into carillon.retries select * from jsonb_populate_record(null::carillon.retries, $1) on conflict do nothing',
              [JSON.stringify(row)],
            )
            .catch(() => {})
        for (const { row, due } of taken) setTimeout(() => void putBack(row), Math.max(1, due - performance.now()))
      },
    }),
  },
  {
    name: 'random-execution-ids',
    what: 'The id of an occurrence is drawn by lot instead of computed.',
    tamper: (_, random) => ({
      before({ name, values }) {
        const ids = values[occurrenceIds]
        if (name !== 'fire' || !Buffer.isBuffer(ids)) return
        for (let at = headerBytes + elementBytes; at <= ids.length; at += elementBytes)
          random.bytes(6).copy(ids, at - 6)
      },
    }),
  },
  {
    name: 'hints-relied-upon',
    what: 'Nodes hardly poll: whatever no hint told of waits.',
    settings: { pollMs: 60_000, windowMs: 60_000 },
  },
  {
    name: 'report-and-hand-back-unordered',
    what: 'What a worker holds is compared before the outcomes that it tells at the same time.',
    heartbeatsApart: true,
  },
  {
    name: 'misfires-ignored',
    what: 'However late, everything that was missed fires.',
    tamper: () => ({
      after(name, rows) {
        if (name !== 'read-due-schedules') return
        for (const { job } of rows as { job: { misfire_after_sec: number } }[]) job.misfire_after_sec = 1_000_000
      },
    }),
  },
]
