import type { Database } from '../database.ts'

/** What signs the tokens of this installation. Never changes. Readable by the owner of the schema and by nodes. */
export async function readSecret(database: Database): Promise<Buffer> {
  const rows = await database.query<{ secret: Buffer }>(
    'read-completion-secret',
    'select completion_secret secret from carillon.secrets',
  )
  return rows[0]!.secret
}
