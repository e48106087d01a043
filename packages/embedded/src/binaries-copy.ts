/**
 * A copy of PostgreSQL's programs readable by every account, made once per version. It appears under its final name
 * complete, on disk, or not at all: it is built aside and renamed. So any number of processes may make it at once, and
 * the first one wins. The name holds a hash of the server program, so versions never mix.
 */
import { createHash, randomUUID } from 'node:crypto'
import { cp, open, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { extname, join, relative } from 'node:path'
import type { LibraryLink } from './binaries.ts'
import { codeOf } from './failure.ts'

const UNFINISHED = 'partial-'
const ABANDONED_AFTER_MS = 3_600_000
const FILES_AT_ONCE = 32

export interface CopyOptions {
  source: string
  cache: string
  links: LibraryLink[]
}

export async function copyBinaries({ source, cache, links }: CopyOptions): Promise<string> {
  const program = await readFile(join(source, 'bin', 'postgres'))
  const final = join(cache, `postgresql-${createHash('sha256').update(program).digest('hex').slice(0, 16)}`)
  if (await stat(final).catch(() => undefined)) return final
  const aside = join(cache, `${UNFINISHED}${randomUUID()}`)
  try {
    await cp(source, aside, { recursive: true, verbatimSymlinks: true, filter: (path) => extname(path) !== '.a' })
    for (const { link, to } of links) await symlink(to, join(aside, relative(source, link))).catch(unlessThere)
    await settle(aside)
    await rename(aside, final)
  } catch (error) {
    await rm(aside, { recursive: true, force: true })
    unlessThere(error)
  }
  await removeAbandoned(cache, final)
  return final
}

/** Opens every file to all readers, whatever umask it was installed under, and forces it to disk. */
async function settle(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const paths = entries.filter((entry) => !entry.isSymbolicLink()).map((entry) => join(entry.parentPath, entry.name))
  paths.push(folder)
  for (let first = 0; first < paths.length; first += FILES_AT_ONCE)
    await Promise.all(paths.slice(first, first + FILES_AT_ONCE).map(settleOne))
}

async function settleOne(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.chmod(0o755)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** What killed processes left half done. Ages are measured against the finished copy: no clock is asked. */
async function removeAbandoned(cache: string, finished: string): Promise<void> {
  const now = (await stat(finished)).ctimeMs
  for (const name of await readdir(cache)) {
    const path = join(cache, name)
    const made = name.startsWith(UNFINISHED) ? await stat(path).catch(() => undefined) : undefined
    if (made && now - made.ctimeMs > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true })
  }
}

function unlessThere(error: unknown): void {
  const code = codeOf(error)
  if (code !== 'EEXIST' && code !== 'ENOTEMPTY') throw error
}
