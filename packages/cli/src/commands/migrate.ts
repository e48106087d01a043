import type { Command } from 'commander'
import { act, type Context } from '../context.ts'
import { addDatabaseOptions, type DatabaseOptions, databasePlace } from '../database-options.ts'

/** `carillon migrate`: what a node does to the database when it starts, beforehand. */
export function registerMigrate(program: Command): void {
  addDatabaseOptions(program.command('migrate'))
    .description('bring a database up to this version, or print the SQL for it')
    .option(
      '--sql',
      'only print all the SQL of an empty installation, for psql; with --roles, only the SQL of the roles',
    )
    .option('--roles', 'create the roles carillon_node, carillon_enqueue, carillon_complete and carillon_read as well')
    .addHelpText('after', '\nExample:\n  $ carillon migrate --sql | psql "$DATABASE_URL"')
    .action(act(migrate))
}

async function migrate(context: Context, options: DatabaseOptions & { sql?: boolean; roles?: boolean }): Promise<void> {
  const { out } = context
  const { createRoles, migrateDatabase, rolesSql, schemaSql } = await import('@carillon/server/administration')
  if (options.sql) {
    const sql = options.roles ? rolesSql() : schemaSql()
    return out.json ? out.document({ sql }) : out.raw(sql)
  }
  const migrated = await migrateDatabase(databasePlace(context, options))
  if (options.roles) await createRoles(databasePlace(context, options))
  const { from, to } = migrated
  out.document(migrated)
  if (from === null) out.line(`The schema is there, version ${to}.`)
  else out.line(from === to ? `Nothing to do: version ${to}.` : `From version ${from} to ${to}.`)
  if (options.roles) out.line('The roles are there; carillon.allow_tenant() says which tenants a role may name.')
}
