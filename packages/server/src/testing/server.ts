/**
 * One PostgreSQL for all tests of a process, started by the first that needs it and gone with the process. Its data stay
 * in the temporary folder, so that the next process starts in a fraction of the time; each process takes a folder that no
 * other holds. Nothing is waited for to reach the disk: after a power cut a folder may be broken, and is made anew.
 */
import { lstat, mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CarillonError } from '@carillon/contract'
import { loadEmbedded } from '../embedded.ts'
import { dropLeftovers } from './databases.ts'

const settings = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  shared_buffers: '128MB',
  autovacuum: 'off',
}
/** More processes than that do not test at once on one machine. */
const folders = 64

let started: Promise<string> | null = null

/** The URL of its server, with the right to create databases. */
export function sharedServer(): Promise<string> {
  started ??= start().catch((error: unknown) => {
    started = null
    throw error
  })
  return started
}

async function start(): Promise<string> {
  const { claimDataDirectory, startEmbeddedPostgres } = await loadEmbedded()
  const { folder, release } = await takeFolder(await ownRoot(), claimDataDirectory)
  const dataDir = join(folder, 'data')
  try {
    const { url } = await startEmbeddedPostgres({ dataDir, settings }).catch(async () => {
      await rm(dataDir, { recursive: true, force: true })
      return startEmbeddedPostgres({ dataDir, settings })
    })
    await dropLeftovers(url)
    return url
  } catch (error) {
    await release()
    throw error
  }
}

type Claim = (folder: string) => Promise<() => Promise<void>>

async function takeFolder(root: string, claim: Claim): Promise<{ folder: string; release: () => Promise<void> }> {
  let trouble: unknown
  for (let n = 0; n < folders; n++) {
    const folder = join(root, String(n))
    await mkdir(folder, { recursive: true })
    try {
      return { folder, release: await claim(folder) }
    } catch (error) {
      trouble = error
    }
  }
  throw trouble
}

/** Nobody else may write where a server of ours runs. */
async function ownRoot(): Promise<string> {
  const uid = process.getuid?.()
  const root = join(tmpdir(), `carillon-testing-${uid}`)
  await mkdir(root, { recursive: true, mode: 0o755 })
  const found = await lstat(root)
  if (found.isDirectory() && found.uid === uid && (found.mode & 0o022) === 0) return root
  throw new CarillonError('EMBEDDED_UNAVAILABLE', {
    message: `The folder ${root} belongs to another account, or others may write there`,
    hint: 'remove it, or give createTestCarillon the databaseUrl of a PostgreSQL of yours',
  })
}
