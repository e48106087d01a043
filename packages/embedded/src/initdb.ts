/**
 * Makes a new cluster. It exists complete or not at all: initdb fills a folder aside, which is renamed and the rename
 * forced to disk when it has succeeded. So a process killed in between leaves nothing that a later start could mistake
 * for data. The password is handed over as an open descriptor, so that it works on paths initdb cannot read.
 */
import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { chown, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { type DataDirectory, PASSWORD_FILE } from './data-directory.ts'
import { fileTrouble, hintFor, unavailable } from './failure.ts'
import { openFolderAccess } from './folder-access.ts'

export const SUPERUSER = 'carillon'
const UNFINISHED = 'cluster.new-'

export interface InitOptions {
  binaries: Binaries
  account: Account | undefined
  /** Whether the files must survive a power cut from the first moment on. */
  durable: boolean
}

export async function createCluster(directory: DataDirectory, options: InitOptions): Promise<void> {
  const aside = join(directory.path, `${UNFINISHED}${randomUUID()}`)
  const passwordFile = `${aside}-password`
  try {
    await removeUnfinished(directory.path)
    await mkdir(aside, { mode: 0o700 })
    await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 })
    if (options.account)
      for (const path of [aside, passwordFile]) await chown(path, options.account.uid, options.account.gid)
    await runInitdb({ folder: aside, passwordFile, dataDir: directory.path }, options)
    await rename(passwordFile, join(aside, PASSWORD_FILE))
    await rename(aside, directory.cluster)
    if (options.durable) await syncFolders([directory.cluster, directory.path])
  } catch (cause) {
    await removeUnfinished(directory.path).catch(() => {})
    throw fileTrouble('create a database in', directory.path, cause)
  }
}

async function runInitdb(
  { folder, passwordFile, dataDir }: { folder: string; passwordFile: string; dataDir: string },
  { binaries, account, durable }: InitOptions,
): Promise<void> {
  const access = await openFolderAccess(folder, account)
  const password = await open(passwordFile, 'r')
  try {
    const locale = binaries.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []
    const args = ['-D', access.path, '-U', SUPERUSER, '--auth=scram-sha-256', '--pwfile=/dev/fd/4']
    args.push('--encoding=UTF8', '--locale=C', ...locale, ...(durable ? [] : ['--no-sync']))
    const child = spawn(join(binaries.folder, 'bin', 'initdb'), args, {
      ...account,
      cwd: '/',
      env: { LC_ALL: 'C', TZ: 'UTC' },
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe', access.handle?.fd ?? 'ignore', password.fd],
    })
    const said = text(child.stderr as NodeJS.ReadableStream)
    const status = await new Promise<number | string | null>((done, fail) => {
      child.once('error', fail)
      child.once('close', (code, signal) => done(code ?? signal))
    })
    if (status === 0) return
    throw unavailable(`initdb failed (${status})`, {
      tail: await said,
      hint: nameless(account) ?? (await hintFor(dataDir)),
    })
  } finally {
    await password.close()
    await access.handle?.close()
  }
}

/** A container may run under a number that no account has, which initdb does not accept. */
function nameless(account: Account | undefined): string | undefined {
  if (account) return undefined
  try {
    userInfo()
    return undefined
  } catch {
    return `give uid ${process.getuid?.()} a line in /etc/passwd, or give Carillon the URL of a database`
  }
}

async function removeUnfinished(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir))
    if (name.startsWith(UNFINISHED)) await rm(join(dataDir, name), { recursive: true, force: true })
}

async function syncFolders(folders: string[]): Promise<void> {
  for (const folder of folders) {
    const handle = await open(folder, 'r')
    await handle.sync()
    await handle.close()
  }
}
