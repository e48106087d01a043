/** A database that cannot write now (full disk, read-only, no files left) is 503 with Retry-After, for every change. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, operations, type Stage, send, stage } from '../integration/http/every-route-stage.ts'

/** disk_full, insufficient_resources, out_of_memory, io_error, undefined_file, read_only_sql_transaction. */
const codes = ['53100', '53000', '53200', '58030', '58P01', '25006']
/** They write nothing here: a preview, a worker that holds nothing and finds nothing, a time that has not passed. */
const writeNothing = new Set([
  'previewSchedule',
  'leaseExecutions',
  'reportExecutions',
  'completeExecution',
  'backfillJob',
  'checkJobs',
  // The pool is used, and nothing is in quarantine.
  'deletePool',
  'releaseQuarantined',
  'discardQuarantined',
  // The run has not ended, and its step waits for no signal.
  'retryDagRun',
  'signalStep',
  // The tenant has jobs.
  'deleteTenant',
])
/** What must be so that there is something to change. */
const before: Record<string, string> = {
  pauseJob: 'resumeJob',
  resumeJob: 'pauseJob',
  cancelExecution: 'retryExecution',
  retryExecution: 'cancelExecution',
}
const changes = operations.filter(([, { method }]) => method !== 'GET')

let on: Stage
let asPlatform: Record<string, string>
let sql: pg.Client

beforeAll(async () => {
  on = await stage()
  asPlatform = await bearer({ tenant: '*' })
  sql = new pg.Client(on.node.databaseUrl)
  await sql.connect()
  await sql.query(`create table public.trouble (code text);
    create function public.trouble() returns trigger language plpgsql as $$
    declare v text := (select code from public.trouble); begin
      if v is not null then raise exception 'could not extend file: No space left on device' using errcode = v; end if;
      return null;
    end $$`)
  const { rows } = await sql.query(`select format('%I.%I', schemaname, tablename) name from pg_tables
    where schemaname = 'carillon' and not tablename = any (select inhrelid::regclass::text from pg_inherits)`)
  for (const { name } of rows) {
    await sql.query(`create trigger trouble before insert or update or delete on ${name}
      for each statement execute function public.trouble()`)
  }
})
afterAll(async () => {
  await sql?.query('delete from public.trouble')
  await sql?.end()
  await on?.[Symbol.asyncDispose]()
})

describe.each(codes)('SQLSTATE %s', (code) => {
  it.each(changes)('%s', async (...operation) => {
    const first = operations.find(([id]) => id === before[operation[0]])
    // It may be so already.
    const as = operation[1].platform ? asPlatform : on.asA
    if (first) expect([200, 409]).toContain((await send(on, first, as)).status)
    await sql.query('insert into public.trouble values ($1)', [code])
    try {
      const key = { 'idempotency-key': `${code} ${operation[0]}` }
      const takesKey = 'idempotency-key' in (operation[1].headers?.properties ?? {})
      for (const headers of takesKey ? [as, { ...as, ...key }] : [as]) {
        const { status, body, headers: answered } = await send(on, operation, headers)
        if (writeNothing.has(operation[0])) expect(status, JSON.stringify(body)).not.toBe(500)
        else {
          expect({ status, code: body.code }).toEqual({ status: 503, code: 'UNAVAILABLE' })
          expect(answered.get('retry-after')).toBe('1')
        }
      }
    } finally {
      await sql.query('delete from public.trouble')
    }
  })
})
