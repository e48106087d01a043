/**
 * PostgreSQL refuses to run as root. When this process is root, the server runs under another account: the owner of the data
 * if that is not root, so that a later start without root still works; else `postgres`, else `nobody`.
 */
import { readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DataDirectory } from './data-directory.ts'
import { unavailable } from './failure.ts'

export interface Account {
  uid: number
  gid: number
}

/** The account to run the server under; undefined means the one this process has. */
export async function accountFor(directory: DataDirectory): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const known = await readAccounts()
  const cluster = await stat(directory.cluster).catch(() => undefined)
  if (cluster && cluster.uid !== 0) return { uid: cluster.uid, gid: cluster.gid }
  const owner = await stat(directory.path).catch(() => undefined)
  // initdb wants its user to have a name.
  const named = owner && owner.uid !== 0 && [...known.values()].find((account) => account.uid === owner.uid)
  const account = named || known.get('postgres') || known.get('nobody')
  if (account) return account
  throw unavailable('PostgreSQL does not run as root, and there is neither an account "postgres" nor "nobody"', {
    hint: 'start Carillon as an ordinary user, or give it the URL of a database',
  })
}

async function readAccounts(): Promise<Map<string, Account>> {
  const accounts = new Map<string, Account>()
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  for (const line of text.split('\n')) {
    const [name, , uid, gid] = line.split(':')
    // macOS writes nobody as -2.
    if (name && uid && gid && Number(uid) !== 0) accounts.set(name, { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 })
  }
  return accounts
}

/** Whether the account may walk every folder down to `path` and read (or enter) `path` itself, by mode bits. */
export async function canReach(account: Account, path: string): Promise<boolean> {
  const { mode, uid, gid } = await stat(path)
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0
  const isDirectory = (mode & 0o170000) === 0o040000
  const needed = isDirectory ? 0o1 : 0o4
  if (((mode >> shift) & needed) !== needed) return false
  const parent = dirname(path)
  return parent === path || (await canReach(account, parent))
}
