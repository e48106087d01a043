import { engineConfig } from '../config/engine-config.ts'
import { readSchemaVersion } from '../store/doctor/installation.ts'
import { migrate, rolesSql, schemaSql } from '../store/migrate.ts'
import { type DatabasePlace, onDatabase } from './connection.ts'

export { rolesSql, schemaSql }

export interface Migrated {
  /** Null: there was no schema. */
  from: number | null
  to: number
}

/** Brings a database up to this version, as a node does when it starts. */
export function migrateDatabase(place: DatabasePlace): Promise<Migrated> {
  return onDatabase(place, async (database, databaseUrl) => {
    const from = await readSchemaVersion(database)
    await migrate(database, engineConfig({ databaseUrl }))
    return { from, to: (await readSchemaVersion(database))! }
  })
}

/** Creates the group roles, as far as they are missing, and grants them what they need. */
export function createRoles(place: DatabasePlace): Promise<void> {
  return onDatabase(place, async (database) => {
    await database.query(null, rolesSql())
  })
}
