import type { Database } from '../database.ts'

/** What signs the tokens of this installation. Never changes. */
export async function readSecret(database: Database): Promise<Buffer> {
  const rows = await database.query<{ secret: Buffer }>(
    'read-installation-secret',
    'select secret from carillon.installation',
  )
  return rows[0]!.secret
}
