/** Defects in what a node does with runs of graphs and with jobs that follow others. */
import { readUuids } from '../binary.ts'
import type { Variant } from './variant.ts'

export const graphVariants: Variant[] = [
  {
    name: 'release-after-commit',
    what: 'What waits for a step is counted down in a transaction of its own, after REPORT has committed.',
    sql: [
      {
        name: 'end_executions',
        from: 'if v_steps is not null then',
        to: 'if v_steps is not null and p_fences is null then',
      },
    ],
    tamper: () => ({
      async after(name, rows, database, values) {
        if (name !== 'report') return
        const ended = (rows[0]?.ended as string[] | null | undefined) ?? readUuids(values[0])
        await database.query(
          null,
          `select carillon.release_steps(
             array(select e.execution_id from carillon.executions e where e.execution_id = any ($1::uuid[]) and e.origin = 'DAG'), $2)`,
          [ended, database.now],
        )
      },
    }),
  },
  {
    name: 'outcomes-cached',
    what: 'How a step has ended is read once, and known from then on, also after its run was retried.',
    tamper: () => {
      const known = new Map<string, { state: string; result: string | null }>()
      return {
        after(name, rows) {
          if (name !== 'read-outcomes') return
          for (const row of rows as { executionId: string; state: string; result: string | null }[]) {
            const before = known.get(row.executionId)
            if (before) Object.assign(row, before)
            else known.set(row.executionId, { state: row.state, result: row.result })
          }
        },
      }
    },
  },
  {
    name: 'counts-cached',
    what: 'How many of those it waited for failed is read once for each step, also after its run was retried.',
    tamper: () => {
      const known = new Map<string, { failed: number; skipped: number }>()
      return {
        after(name, rows) {
          if (name !== 'read-released') return
          for (const row of rows as { executionId: string; failed: number; skipped: number }[]) {
            const before = known.get(row.executionId)
            if (before) Object.assign(row, before)
            else known.set(row.executionId, { failed: row.failed, skipped: row.skipped })
          }
        },
      }
    },
  },
  {
    name: 'list-read-twice',
    what: 'What an execution starts its run with is read anew by each attempt, and its lists are others by then.',
    tamper: () => {
      const readBefore = new Set<unknown>()
      return {
        after(name, rows, _, [executionId]) {
          if (name !== 'read-parent-step') return
          const isAgain = readBefore.has(executionId)
          readBefore.add(executionId)
          if (!isAgain) return
          for (const row of rows as { inputs: string | null; payload: string | null }[]) {
            row.inputs = row.inputs && withAnotherItem(row.inputs)
            row.payload = row.payload && withAnotherItem(row.payload)
          }
        },
      }
    },
  },
  {
    name: 'followers-after-commit',
    what: 'What follows an execution is written in a transaction of its own, after REPORT has committed.',
    sql: [
      {
        name: 'end_executions',
        from: 'if exists (select from carillon.followers) and ended',
        to: 'if p_fences is null and exists (select from carillon.followers) and ended',
      },
    ],
    tamper: () => ({
      async after(name, rows, database, values) {
        if (name !== 'report') return
        const ended = (rows[0]?.ended as string[] | null | undefined) ?? readUuids(values[0])
        await database.query(null, 'select carillon.follow_ends($1::uuid[], $2)', [ended, database.now])
      },
    }),
  },
]

/** Every list in it has one more. */
function withAnotherItem(text: string): string {
  return text.replaceAll('"items":[', '"items":[{"of":"another","i":99,"fails":false},').replaceAll(',]', ']')
}
