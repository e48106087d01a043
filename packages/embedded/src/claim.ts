/**
 * One process holds a data directory at a time, from before initdb until after its server is gone. The claim is a file
 * created exclusively that names its holder by number and birth; a holder that died without a word is recognised by
 * that, and its claim replaced. Of several that replace it at once the last one has it, which the others find out by
 * looking again a moment later. PostgreSQL's own postmaster.pid stands behind this: a race lost here ends in a refused
 * start.
 *
 * Between two containers or two hosts that share a volume neither numbers nor postmaster.pid mean anything, and two
 * servers would destroy the data. So a holder renews its file every second, and one that cannot be judged by its
 * number is watched for a few seconds before it is taken for dead.
 */
import { randomUUID } from 'node:crypto'
import { type FileHandle, open, readFile, readlink, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { codeOf, fileTrouble, unavailable } from './failure.ts'
import { birthOf } from './processes.ts'
import { pause, poll } from './waiting.ts'

const RENEW_EVERY_MS = 1_000
const WATCH_FOR_MS = 4_000
const SETTLE_MS = 100
const WRITTEN_WITHIN_MS = 500

interface Holder {
  pid: number
  birth: string | undefined
  /** The host and the pid namespace in which `pid` means something. */
  space: string
  /** Tells apart two claims of one process. */
  id: string
}

/** Answers the function that gives the directory back. */
export async function claimDataDirectory(dataDir: string): Promise<() => Promise<void>> {
  const path = join(dataDir, 'holder.json')
  const space = await ownSpace()
  const own: Holder = { pid: process.pid, birth: await birthOf(process.pid), space, id: randomUUID() }
  try {
    for (;;) {
      const created = await createFirst(path, own)
      if (created) return keepRenewing(created, path, own)
      const holder = await readHolder(path)
      if (holder && (await isAlive(path, holder, space))) throw inUse(dataDir, holder.pid)
      const replaced = await replaceDead(path, own, holder)
      if (replaced) return keepRenewing(replaced, path, own)
    }
  } catch (cause) {
    throw fileTrouble('write', path, cause)
  }
}

export function inUse(dataDir: string, pid: number): Error {
  const who = pid === process.pid ? `this process (pid ${pid})` : `process ${pid}`
  return unavailable(`The data directory ${dataDir} is in use by ${who}`, {
    hint: 'stop that process first, connect to its server, or choose another data directory',
  })
}

async function createFirst(path: string, own: Holder): Promise<FileHandle | undefined> {
  try {
    return await writeClaim(path, own)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined
    throw error
  }
}

async function replaceDead(path: string, own: Holder, dead: Holder | undefined): Promise<FileHandle | undefined> {
  const aside = `${path}.${own.id}`
  const file = await writeClaim(aside, own)
  if ((await readHolder(path))?.id === dead?.id) {
    await rename(aside, path)
    await pause(SETTLE_MS)
    if ((await readHolder(path))?.id === own.id) return file
  } else {
    await rm(aside, { force: true })
  }
  await file.close()
  return undefined
}

async function writeClaim(path: string, own: Holder): Promise<FileHandle> {
  const file = await open(path, 'wx', 0o644)
  try {
    await file.write(JSON.stringify(own), 0)
    return file
  } catch (error) {
    await file.close()
    await rm(path, { force: true })
    throw error
  }
}

/** Renewing goes through the open file: should the claim have been replaced, that one is not touched. */
function keepRenewing(file: FileHandle, path: string, own: Holder): () => Promise<void> {
  const timer = setInterval(() => void file.write(JSON.stringify(own), 0).catch(() => {}), RENEW_EVERY_MS).unref()
  return async () => {
    clearInterval(timer)
    await file.close()
    if ((await readHolder(path))?.id === own.id) await rm(path, { force: true })
  }
}

async function isAlive(path: string, holder: Holder, space: string): Promise<boolean> {
  if (holder.space === space) return holder.birth !== undefined && (await birthOf(holder.pid)) === holder.birth
  const renewedAt = async () => (await stat(path).catch(() => undefined))?.mtimeMs
  const before = await renewedAt()
  const renewed = await poll(async () => ((await renewedAt()) !== before ? true : undefined), {
    everyMs: 200,
    forMs: WATCH_FOR_MS,
  })
  return renewed === true
}

async function ownSpace(): Promise<string> {
  return `${hostname()} ${await readlink('/proc/self/ns/pid').catch(() => '')}`
}

/** Undefined when there is no claim, or one whose writer died before the first byte. */
async function readHolder(path: string): Promise<Holder | undefined> {
  const read = async () => {
    try {
      return JSON.parse(await readFile(path, 'utf8')) as Holder
    } catch (error) {
      return error instanceof SyntaxError ? undefined : 'none'
    }
  }
  const found = await poll(read, { everyMs: 10, forMs: WRITTEN_WITHIN_MS })
  return found === 'none' ? undefined : found
}
