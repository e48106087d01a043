/**
 * The folder a user names, and what Carillon keeps in it:
 *
 *   cluster/                   PostgreSQL's own data directory, owned by the account that runs the server
 *   cluster/carillon-password  mode 0600
 *   holder.json                who holds the directory now (claim.ts)
 *   server.log                 what the server said (server-log.ts)
 *   demo/                      the data directory of `carillon demo`, which has nothing to do with this one
 *
 * Nothing is written into a folder that holds anything else.
 */
import { createHash } from 'node:crypto'
import { chmod, chown, lchown, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { codeOf, fileTrouble, unavailable } from './failure.ts'

export const PASSWORD_FILE = 'carillon-password'
const OWN_NAMES = /^(cluster(\.new-.*)?|holder\.json.*|server\.log.*|demo|lost\+found|\..*)$/

export interface DataDirectory {
  path: string
  cluster: string
}

export function dataDirectory(path: string): DataDirectory {
  const absolute = resolve(path)
  return { path: absolute, cluster: join(absolute, 'cluster') }
}

/** Creates the folder, or makes sure that the one there is ours or empty. */
export async function enterDataDirectory({ path }: DataDirectory): Promise<void> {
  let names: string[]
  try {
    await mkdir(path, { recursive: true })
    names = await readdir(path)
  } catch (cause) {
    throw fileTrouble('use the data directory', path, cause)
  }
  if (names.includes('cluster') || names.every((name) => OWN_NAMES.test(name))) return
  const what = names.includes('PG_VERSION') ? 'a PostgreSQL data directory that Carillon did not create' : 'not empty'
  throw unavailable(`${path} is ${what}`, { hint: 'choose an empty or a new directory' })
}

/** Whether there is a cluster to start; throws if it is not one these programs can run. */
export async function hasCluster({ cluster }: DataDirectory, binaries: Binaries): Promise<boolean> {
  let names: string[]
  try {
    names = await readdir(cluster)
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return false
    throw fileTrouble('read', cluster, cause)
  }
  const version = (await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch(() => '')).trim()
  const missing = ['PG_VERSION', 'global', 'base', PASSWORD_FILE].filter((name) => !names.includes(name))
  if (missing.length > 0 || !version)
    throw unavailable(`${cluster} is damaged: ${missing.join(', ') || 'PG_VERSION'} is missing`, {
      hint: 'restore it from a backup, or choose an empty directory',
    })
  if (Number(version) !== binaries.major)
    throw unavailable(`${cluster} was made by PostgreSQL ${version}, but this is PostgreSQL ${binaries.major}`, {
      hint: 'move the data with pg_dump and pg_restore, or start it with the programs of its own version',
    })
  return true
}

/** Restores owner and mode, which a copy or a backup made by root may have lost. */
export async function settleOwnership({ cluster }: DataDirectory, account: Account | undefined): Promise<void> {
  try {
    const { mode, uid } = await stat(cluster)
    if (account && uid !== account.uid) await giveTo(account, cluster)
    if ((mode & 0o077) !== 0) await chmod(cluster, 0o700)
  } catch (cause) {
    throw fileTrouble('take over', cluster, cause)
  }
}

async function giveTo({ uid, gid }: Account, folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true }))
    await lchown(join(entry.parentPath, entry.name), uid, gid)
  // Last, because this is what tells the next start that the work is done.
  await chown(folder, uid, gid)
}

export interface Credentials {
  password: string
  /** Names this cluster on the server's command line without telling the password. */
  instance: string
}

export async function readCredentials({ cluster }: DataDirectory): Promise<Credentials> {
  const path = join(cluster, PASSWORD_FILE)
  try {
    const password = (await readFile(path, 'utf8')).trim()
    return { password, instance: createHash('sha256').update(password).digest('hex').slice(0, 16) }
  } catch (cause) {
    throw fileTrouble('read', path, cause)
  }
}
