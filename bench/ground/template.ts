/**
 * The database every installation of a run is a copy of: migrated, with history, tenants and keys. Built once, when the
 * first is asked for.
 */

import { createApiKey, migrateDatabase } from '@carillon/server/administration'
import pg from 'pg'
import { Database } from '../../packages/server/src/store/database.ts'
import { tenantCount } from '../work.ts'
import { layHistory } from './history.ts'
import type { Server } from './server.ts'

export interface Template {
  database: string
  tenants: string[]
  tokens: string[]
  workerToken: string
  adminToken: string
}

const database = 'carillon_template'

export async function buildTemplate(server: Server, rows: number): Promise<Template> {
  const url = await server.create(database)
  await migrateDatabase({ databaseUrl: url })
  const tenants = Array.from({ length: tenantCount }, (_, i) => `tenant-${i + 1}`)
  const keys = await makeKeys(url, tenants)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await layHistory(client, { url, rows, tenants })
  } finally {
    await client.end()
  }
  return { database, tenants, ...keys }
}

async function makeKeys(
  url: string,
  tenants: string[],
): Promise<Pick<Template, 'tokens' | 'workerToken' | 'adminToken'>> {
  const place = new Database({ url, maxConnections: 1, statementTimeoutMs: 10_000, applicationName: 'bench' })
  try {
    const tokens: string[] = []
    for (const tenant of tenants) {
      const { key } = await createApiKey(place, { name: 'bench', tenant, scopes: ['jobs:read', 'jobs:write'] })
      tokens.push(key)
    }
    const platform = { name: 'bench', tenant: null }
    const worker = await createApiKey(place, { ...platform, scopes: ['work'] })
    const admin = await createApiKey(place, { ...platform, scopes: ['jobs:read', 'jobs:write', 'work', 'admin'] })
    return { tokens, workerToken: worker.key, adminToken: admin.key }
  } finally {
    await place.end()
  }
}
