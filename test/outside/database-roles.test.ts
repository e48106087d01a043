/** What each database role may do: every table and every function is walked, and every role does its work. */
import { type Carillon, createCarillon, defineHandler } from '@carillon/server'
import { createRoles, migrateDatabase } from '@carillon/server/administration'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EmbeddedPostgres } from '../../packages/embedded/src/index.ts'
import { createLogger } from '../../packages/server/src/observability/logger.ts'
import { Database } from '../../packages/server/src/store/database.ts'
import { dropPartition } from '../../packages/server/src/store/partitions/manage.ts'
import { EventPruner } from '../../packages/server/src/upkeep/event-pruner.ts'
import { Pruner } from '../../packages/server/src/upkeep/pruner.ts'
import { quickTimes } from '../support/carillon.ts'
import { isPackaged, startPackagedPostgres, startPostgres18 } from '../support/postgres.ts'
import { until } from '../support/until.ts'

const note = defineHandler<unknown>({ name: 'note' })
const hold = defineHandler<unknown>({ name: 'hold' })
const ownersOnly = ['allow_tenant', 'forbid_tenant', 'grant_roles', 'set_audit_retention']
/** Tables that a node may only read. */
const readByNode = ['api_keys', 'function_texts', 'installation', 'migrations', 'secrets', 'sql_tenants']

const servers = [
  ['18', startPostgres18] as const,
  ...(isPackaged(15) ? [['15', () => startPackagedPostgres(15)] as const] : []),
]

describe.each(servers)('database roles on PostgreSQL %s', (_, startServer) => {
  let server: EmbeddedPostgres
  let owner: pg.Client
  const clients: pg.Client[] = []
  const urlOf = (role: string) => {
    const url = new URL(server.url)
    url.username = role
    url.password = 'secret'
    url.pathname = '/roles'
    return url.href
  }
  const connect = async (role: string) => {
    const client = new pg.Client(urlOf(role))
    await client.connect()
    clients.push(client)
    return client
  }

  beforeAll(async () => {
    server = await startServer()
    const admin = new pg.Client(server.url)
    await admin.connect()
    await admin.query(`create role owner login createrole password 'secret'`)
    await admin.query('create database roles owner owner')
    await admin.end()
    await migrateDatabase({ databaseUrl: urlOf('owner') })
    await createRoles({ databaseUrl: urlOf('owner') })
    await createRoles({ databaseUrl: urlOf('owner') })
    owner = await connect('owner')
    await owner.query(`
      create role clerk login password 'secret' in role carillon_enqueue;
      create role finisher login password 'secret' in role carillon_complete;
      create role viewer login password 'secret' in role carillon_read;
      create role node login password 'secret' in role carillon_node;
      create role stranger login password 'secret';
      select carillon.allow_tenant('clerk', 'acme'), carillon.allow_tenant('finisher', 'acme')`)
  })
  afterAll(async () => {
    for (const client of clients) await client.end()
    await server.stop()
  })

  /** By role and table: what it may do with it. `select` counts if it may read any column. */
  async function tableRights(role: string): Promise<Record<string, string>> {
    const { rows } = await owner.query<{ name: string; rights: string }>(
      `select c.relname name, concat_ws(' ',
         case when has_any_column_privilege($1, c.oid, 'select') then 'select' end,
         case when has_table_privilege($1, c.oid, 'insert') then 'insert' end,
         case when has_table_privilege($1, c.oid, 'update') then 'update' end,
         case when has_table_privilege($1, c.oid, 'delete') then 'delete' end,
         case when has_table_privilege($1, c.oid, 'truncate') then 'truncate' end,
         case when has_table_privilege($1, c.oid, 'trigger') or has_table_privilege($1, c.oid, 'references') then 'ddl' end) rights
       from pg_class c where c.relnamespace = 'carillon'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
      [role],
    )
    return Object.fromEntries(rows.map(({ name, rights }) => [name, rights]))
  }

  async function functionRights(role: string): Promise<{ may: string[]; mayNot: string[] }> {
    const { rows } = await owner.query<{ name: string; may: boolean }>(
      `select p.proname name, has_function_privilege($1, p.oid, 'execute') may
       from pg_proc p where p.pronamespace = 'carillon'::regnamespace order by 1`,
      [role],
    )
    const names = (may: boolean) => [...new Set(rows.filter((row) => row.may === may).map((row) => row.name))]
    return { may: names(true), mayNot: names(false) }
  }

  it.each([
    ['clerk', ['enqueue', 'enqueue_run', 'enqueued']],
    ['finisher', ['complete_in']],
    ['stranger', []],
  ])('%s has no right on any table, and only its functions', async (role, functions) => {
    const tables = await tableRights(role)
    expect(Object.keys(tables).length).toBeGreaterThan(25)
    expect(new Set(Object.values(tables))).toEqual(new Set(['']))
    expect((await functionRights(role)).may).toEqual(functions)
  })

  it('a read-only role reads everything but secrets', async () => {
    const { secrets, ...others } = await tableRights('viewer')
    expect(secrets).toBe('')
    expect(new Set(Object.values(others))).toEqual(new Set(['select']))
    expect((await functionRights('viewer')).may).toEqual(['at', 'first_id', 'ms'])
    const viewer = await connect('viewer')
    await expect(viewer.query('select hash from carillon.api_keys')).rejects.toMatchObject({ code: '42501' })
    await expect(viewer.query('table carillon.secrets')).rejects.toMatchObject({ code: '42501' })
    await viewer.query('select key_id, name, scopes from carillon.api_keys')
    await viewer.query('select carillon.ms(e.due_at) from carillon.executions e')
  })

  it('a node writes what it works with, and owns nothing', async () => {
    const { audit, ...tables } = await tableRights('node')
    expect(audit).toBe('select insert')
    const expected = Object.keys(tables).map((name) => [
      name,
      readByNode.includes(name) ? 'select' : 'select insert update delete',
    ])
    expect(tables).toEqual(Object.fromEntries(expected))
    expect((await functionRights('node')).mayNot).toEqual(ownersOnly)
    const node = await connect('node')
    await expect(node.query('update carillon.installation set retention_days = 1')).rejects.toMatchObject({
      code: '42501',
    })
    await node.query('update carillon.installation set floor_id = floor_id')
  })

  it('every function that runs with its owner’s rights has a fixed search path', async () => {
    const { rows } = await owner.query<{ name: string; config: string[] | null }>(
      `select p.proname name, p.proconfig config from pg_proc p
       where p.pronamespace = 'carillon'::regnamespace and p.prosecdef order by 1`,
    )
    expect(rows.map(({ name }) => name)).toEqual([
      'complete_in',
      'create_partition',
      'drop_partition',
      'enqueue',
      'enqueue_run',
      'enqueued',
      'prune_audit',
    ])
    for (const { name, config } of rows) expect([name, config]).toEqual([name, expect.arrayContaining([path])])
  })

  it('a role that enqueues names the tenants it was allowed, whatever role it takes on', async () => {
    const clerk = await connect('clerk')
    await clerk.query(`select carillon.enqueue('note', tenant => 'acme')`)
    const refused = {
      code: '42501',
      message: expect.stringMatching(/role \S+ may not enqueue for tenant/),
      hint: expect.stringMatching(/allow_tenant/),
    }
    for (const role of ['none', 'carillon_enqueue']) {
      await clerk.query(`set role ${role}`)
      const foreign = clerk.query(`select carillon.enqueue('note', tenant => 'globex')`)
      await expect(foreign).rejects.toMatchObject(refused)
    }
    await owner.query(`select carillon.allow_tenant('carillon_enqueue', 'globex')`)
    await clerk.query('set role none')
    await clerk.query(`select carillon.enqueue('note', tenant => 'globex')`)
    await owner.query(`select carillon.forbid_tenant('carillon_enqueue', 'globex')`)
    await expect(clerk.query(`select carillon.enqueue('note', tenant => 'globex')`)).rejects.toMatchObject(refused)
    await expect(clerk.query(`select carillon.allow_tenant('clerk', 'globex')`)).rejects.toMatchObject({
      code: '42501',
    })
    const { rows } = await owner.query(`select action, tenant from carillon.audit where subject = 'carillon_enqueue'`)
    expect(rows).toEqual([
      { action: 'role.allowed', tenant: 'globex' },
      { action: 'role.forbidden', tenant: 'globex' },
    ])
  })

  it('objects of the caller do not stand in for those of the installation', async () => {
    await owner.query('grant create on database roles to clerk')
    const clerk = await connect('clerk')
    await clerk.query(`create schema evil; create function evil.clock_timestamp() returns timestamptz language plpgsql as
      $$ begin raise exception 'taken over by %', current_user; end $$;
      create temp table pools (pool text, tenant text); set search_path = evil, pg_temp, pg_catalog`)
    await clerk.query(`select carillon.enqueue('note', tenant => 'acme')`)
  })

  describe('a whole node without ownership', () => {
    let carillon: Carillon
    const noted: string[] = []
    const held: { executionId: string; fence: number; release: () => void }[] = []
    beforeAll(async () => {
      carillon = await createCarillon({
        databaseUrl: urlOf('node'),
        logLevel: 'error',
        ...quickTimes,
        statementTimeoutMs: 590,
      })
      carillon.handle(note, async (ctx) => void noted.push(ctx.executionId))
      carillon.handle(hold, async ({ executionId, fence }) => {
        await new Promise<void>((release) => held.push({ executionId, fence, release }))
      })
      await carillon.start()
    })
    afterAll(() => carillon.stop({ drainSec: 1 }))

    it('runs what a clerk enqueued and what a schedule says', async () => {
      const clerk = await connect('clerk')
      const { rows } = await clerk.query(`select carillon.enqueue('note', '{"a": 1}', tenant => 'acme') id`)
      await until(() => noted.includes(rows[0].id))
      await carillon.schedule(note, {}, { every: 'PT1S', key: 'tick' })
      const before = noted.length
      await until(() => noted.length >= before + 2)
    })

    it('makes partitions, removes them, and prunes', async () => {
      const database = new Database({
        url: urlOf('node'),
        maxConnections: 1,
        statementTimeoutMs: 5_000,
        applicationName: 'test',
      })
      const partitions = `select count(*)::int n from pg_inherits where inhparent = 'carillon.executions'::regclass`
      const count = async () => (await owner.query(partitions)).rows[0].n
      const made = await count()
      expect(made).toBeGreaterThan(1)
      await owner.query(
        `select carillon.create_partition(p, 0, 86400000) from unnest('{executions,endings}'::text[]) p`,
      )
      expect(await count()).toBe(made + 1)
      await dropPartition(database, 0)
      expect(await count()).toBe(made)
      await new Pruner({ database }).runOnce()
      await new EventPruner({ database, logger: createLogger('silent') }).runOnce()
      const beyond = database.query(null, `select carillon.drop_partition('executions', 4102444800000)`)
      await expect(beyond).rejects.toMatchObject({ code: '22023' })
      await database.end()
    })

    it('completes only executions of the tenants that the role was allowed', async () => {
      const finisher = await connect('finisher')
      for (const tenant of ['acme', 'globex']) await carillon.enqueue(hold, {}, { tenant })
      await until(() => held.length === 2)
      for (const { executionId, fence, release } of held) {
        const { tenant } = (
          await owner.query('select tenant from carillon.executions where execution_id = $1', [executionId])
        ).rows[0]
        const completed = finisher.query('select carillon.complete_in($1, $2, $3)', [
          executionId,
          fence,
          '{"ok": true}',
        ])
        if (tenant === 'acme') await completed
        else await expect(completed).rejects.toMatchObject({ code: 'CA001' })
        release()
      }
      const ended = `select tenant, state, result from carillon.executions where handler = 'hold' order by tenant`
      await until(async () => (await owner.query(ended)).rows.every(({ state }) => state === 'SUCCEEDED'))
      expect((await owner.query(ended)).rows).toEqual([
        { tenant: 'acme', state: 'SUCCEEDED', result: '{"ok": true}' },
        { tenant: 'globex', state: 'SUCCEEDED', result: null },
      ])
    })
  })

  it('a node of another version says who must migrate', async () => {
    await owner.query(`update carillon.function_texts set digest = 'of another version'`)
    const late = await createCarillon({ databaseUrl: urlOf('node'), logLevel: 'error' })
    await expect(late.start()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/role node does not own it.*carillon migrate.*as owner/s),
    })
    await late.stop()
    await migrateDatabase({ databaseUrl: urlOf('owner') })
    expect((await functionRights('clerk')).may).toEqual(['enqueue', 'enqueue_run', 'enqueued'])
  })
})

const path = 'search_path=pg_catalog, pg_temp'
