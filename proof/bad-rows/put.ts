/** Puts rows into tables by hand, each for itself: one that a table refuses does not keep the others out. */
import type pg from 'pg'
import type { BadTable, Row } from './generator.ts'

const functionSql = `
create or replace function put_rows(p_table text, p_rows jsonb[]) returns table (put bigint, refused bigint)
language plpgsql as $$
declare
  v_row jsonb;
begin
  put := 0;
  refused := 0;
  foreach v_row in array p_rows loop
    begin
      execute format('insert into carillon.%1$I (%2$s) overriding system value
        select %2$s from jsonb_populate_record(null::carillon.%1$I, $1)', p_table,
        (select string_agg(quote_ident(k), ', ') from jsonb_object_keys(v_row) k)) using v_row;
      put := put + 1;
    exception when others then
      refused := refused + 1;
    end;
  end loop;
  return next;
end $$`

export interface Put {
  put: number
  refused: number
}

export async function prepare(client: pg.Client): Promise<void> {
  await client.query(functionSql)
}

export async function putRows(client: pg.Client, table: BadTable, rows: Row[]): Promise<Put> {
  const { rows: answer } = await client.query('select put::int, refused::int from put_rows($1, $2::jsonb[])', [
    table,
    rows.map((row) => JSON.stringify(row)),
  ])
  return answer[0]
}
