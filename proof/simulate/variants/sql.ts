/** Defects in the functions of the database. */
import type { Variant } from './variant.ts'

export const sqlVariants: Variant[] = [
  {
    name: 'epoch-not-checked',
    what: 'A leader that was replaced goes on firing.',
    sql: [{ name: 'hold_shards', from: ' and s.epoch = i.epoch', to: '' }],
  },
  {
    name: 'fence-not-checked',
    what: 'A report ends an attempt though the execution has come back since.',
    sql: [
      { name: 'end_executions', from: ' and (i.fence is null or e.fence is null or e.fence < i.fence)', to: '' },
      { name: 'return_executions', from: ' and (e.fence is null or e.fence < i.fence)', to: '' },
      // A lease that is kept after its end, so that the report of an old one is not refused for want of it.
      { name: 'report', from: 'delete from carillon.leases l where l.ctid = any (v_back.gone);', to: 'null;' },
    ],
  },
  {
    name: 'note-lost',
    what: 'That the handler of something that may start only once has begun is answered, and not noted.',
    sql: [{ name: 'begin_handlers', from: 'where i.id = any (v_begun) and not l.began', to: 'where false' }],
  },
  {
    name: 'overlap-without-lock',
    what: 'FIRE asks whether a job is still busy without holding its row, nor the rows of what is live.',
    sql: [
      { name: 'fire', from: 'order by s.job_id for update of s skip locked', to: 'order by s.job_id' },
      {
        name: 'overlap_verdicts',
        from: 'order by e.execution_id for no key update of e',
        to: 'order by e.execution_id',
      },
    ],
  },
  {
    name: 'early-fire',
    what: 'FIRE does not look at its own clock.',
    sql: [
      { name: 'fire', from: ' and i.due <= carillon.ms(v_now)', to: '' },
      { name: 'fire', from: 'where o.due > carillon.ms(v_now)', to: 'where false' },
    ],
  },
  {
    name: 'old-version-fires',
    what: 'FIRE does not compare version and due time: what was paused or changed fires from memory.',
    sql: [{ name: 'fire', from: 's.version = i.version and carillon.ms(s.due) = i.due and ', to: '' }],
  },
  {
    name: 'attempts-not-counted',
    what: 'A failed attempt leaves the count as it was.',
    sql: [
      {
        name: 'end_executions',
        from: 'then e.attempt else e.attempt + 1 end',
        to: 'then e.attempt else e.attempt end',
      },
      { name: 'return_executions', from: 'attempt = e.attempt + 1 - i.released', to: 'attempt = e.attempt' },
    ],
  },
  {
    name: 'skips-not-recorded',
    what: 'Occurrences that are skipped are passed over without a row.',
    sql: [
      {
        name: 'fire',
        from: 'where (v_all or o.job_id = any (moved)) and o.execution_id >= v_floor',
        to: 'where (v_all or o.job_id = any (moved)) and o.execution_id >= v_floor and o.reason is null',
      },
    ],
  },
  {
    name: 'watch-of-each-node',
    what: 'A node that starts makes the time begin anew for which workers could be heard.',
    sql: [
      {
        name: 'extend_watch',
        from: 'next_from := carillon.ms(v_now);',
        to: 'next_from := carillon.ms(v_now); if p_from is null then update carillon.worker_watch set since = v_now, until = v_now; end if;',
      },
    ],
  },
  {
    name: 'idempotency-key-ignored',
    what: 'A request that was answered before is done again.',
    sql: [{ name: 'claim_answers', from: `return coalesce(v_taken, '{}')`, to: `return '{}'` }],
  },
  {
    name: 'count-down-from-memory',
    what: 'RELEASE reads how many steps are waited for without a lock, and writes one less than it read.',
    sql: [
      {
        name: 'release_steps',
        from: 'perform from unnest(v_ids) i(id) join carillon.blocked b on b.execution_id = i.id order by b.execution_id for update of b;',
        to: `select array_agg(greatest(coalesce(b.remaining - i.done, 0), 0) order by i.id) into v_done
          from unnest(v_ids, v_done) i(id, done) left join carillon.blocked b on b.execution_id = i.id;`,
      },
      { name: 'release_steps', from: 'remaining = b.remaining - t.done', to: 'remaining = t.done' },
    ],
  },
  {
    name: 'advance-epoch-not-checked',
    what: 'A leader that was replaced goes on advancing runs.',
    sql: [{ name: 'advance', from: 'carillon.hold_shards(p_shards, p_epochs)', to: 'p_shards' }],
  },
  {
    name: 'slots-not-counted',
    what: 'What is released of a list takes none of the slots of its run.',
    sql: [
      {
        name: 'advance',
        from: 'update carillon.blocked b set active = b.active + m.count',
        to: 'update carillon.blocked b set active = b.active',
      },
    ],
  },
]
