/**
 * PostgreSQL on a directory of its own with the settings it ships with: JIT on, 100 connections, 128 MB of shared buffers,
 * fsync on. By default PostgreSQL 15 as Debian packages it, which scripts/install-stock installs.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../packages/embedded/src/index.ts'

export const debian15 = '/usr/lib/postgresql/15'

/** What Carillon's own server changes, set back to what PostgreSQL ships with. */
export const shippedSettings = { max_connections: '100', shared_buffers: '128MB', log_checkpoints: 'on' }

export async function startStockPostgres(binaries = debian15): Promise<EmbeddedPostgres> {
  requireStock(join(binaries, 'bin', 'postgres'))
  const dataDir = await mkdtemp(join(tmpdir(), 'carillon-stock-'))
  const remove = () => rm(dataDir, { recursive: true, force: true })
  try {
    const server = await startEmbeddedPostgres({ dataDir, binaries, settings: shippedSettings })
    return { ...server, stop: () => server.stop().then(remove) }
  } catch (error) {
    await remove()
    throw error
  }
}

/** In the stock run a missing server is a failure, not a skip. */
export function requireStock(program: string): void {
  if (!existsSync(program)) throw new Error(`${program} is missing: run npm ci and scripts/install-stock`)
}
