/** Deliberate defects of a running installation. */
import type { Stage } from './stage.ts'

/** Of twenty ledger rows one is never written, and nobody is told. Not of steps: what waits for a lost one waits without end. */
export async function rowsLost(stage: Stage): Promise<void> {
  await stage.query(`
    create function carillon.lose() returns trigger language plpgsql as $$
    begin
      return case when new.origin = 'DAG' or get_byte(uuid_send(new.execution_id), 15) >= 13 then new end;
    end $$`)
  const partitions = await stage.query<{ name: string }>(
    `select inhrelid::regclass::text name from pg_inherits where inhparent = 'carillon.executions'::regclass`,
  )
  for (const { name } of partitions) {
    await stage.query(`create trigger lose before insert on ${name} for each row execute function carillon.lose()`)
  }
}

/** What limits overlap with itself finds nothing in its way. */
export async function overlapNotChecked(stage: Stage): Promise<void> {
  await replaceIn(stage, 'overlap_verdicts', "when cardinality(v_open) = 0 then 'READY'", "when true then 'READY'")
}

async function replaceIn(stage: Stage, name: string, text: string, by: string): Promise<void> {
  const [found] = await stage.query<{ definition: string }>(
    `select pg_get_functiondef(oid) definition from pg_proc where pronamespace = 'carillon'::regnamespace and proname = $1`,
    [name],
  )
  if (!found?.definition.includes(text)) throw new Error(`${name} has no longer: ${text}`)
  await stage.query(found.definition.replace(text, by))
}
