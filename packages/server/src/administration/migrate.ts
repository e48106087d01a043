import { engineConfig } from '../config/engine-config.ts'
import { readSchemaVersion } from '../store/doctor/installation.ts'
import { migrate, schemaSql } from '../store/migrate.ts'
import { type DatabasePlace, onDatabase } from './connection.ts'

export { schemaSql }

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
