/** Defects in how slots of limits are given away and given back. */
import type { Variant } from './variant.ts'

export const limitVariants: Variant[] = [
  {
    name: 'slots-of-limits-not-counted',
    what: 'ADMIT takes a limit for free, whatever was taken of it before.',
    sql: [{ name: 'limit_room', from: 'l.concurrency - k.taken', to: 'l.concurrency' }],
  },
  {
    name: 'slot-kept-by-retries',
    what: 'What failed and is to be tried again keeps its slot.',
    sql: [{ name: 'return_executions', from: 'perform carillon.free_slots(v_back)', to: 'perform 1' }],
  },
  {
    name: 'changes-of-limits-forgotten',
    what: 'ADMIT counts changes that it has not looked at, and does not look again.',
    sql: [{ name: 'admit', from: `more := v_looked <> '{}';`, to: `v_looked := '{}'; more := false;` }],
  },
]
