/**
 * What an earlier server may have left on the same data. One that is being shut down, because the process it belonged
 * to was killed, is waited for. A postmaster.pid whose number now belongs to an unrelated process is removed, which
 * PostgreSQL itself would not dare; one whose process is gone PostgreSQL removes. A server that was started by
 * hand is left alone and named. Must run while the data directory is claimed, and only then.
 */
import { readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { inUse } from './claim.ts'
import type { DataDirectory } from './data-directory.ts'
import { fileTrouble, unavailable } from './failure.ts'
import { commandOf } from './processes.ts'
import { poll } from './waiting.ts'

const LONGEST_SHUTDOWN_MS = 30_000
const INSTANCE_SETTING = 'carillon.instance'

export interface PostmasterFile {
  pid: number
  port: number
  /** `starting`, `ready`, `stopping`. */
  status: string
}

export function instanceSetting(instance: string): Record<string, string> {
  return { [INSTANCE_SETTING]: instance }
}

export async function readPostmasterFile({ cluster }: DataDirectory): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')
  const lines = text.split('\n')
  const pid = Number(lines[0])
  return pid > 0 ? { pid, port: Number(lines[3]), status: lines[7]?.trim() ?? '' } : undefined
}

/** Answers whether an earlier server ended without tidying up. */
export async function waitForPredecessor(directory: DataDirectory, instance: string): Promise<boolean> {
  let pid = 0
  const left = await poll(() => look(directory, instance, (seen) => (pid = seen)), {
    everyMs: 20,
    forMs: LONGEST_SHUTDOWN_MS,
  })
  if (left !== undefined) return left === 'stale'
  throw unavailable(`The former server on ${directory.path}, process ${pid}, does not end`, {
    hint: `end it with "kill -INT ${pid}" and start again`,
  })
}

async function look(
  directory: DataDirectory,
  instance: string,
  onPid: (pid: number) => void,
): Promise<'none' | 'stale' | undefined> {
  const file = await readPostmasterFile(directory)
  if (!file) return 'none'
  onPid(file.pid)
  const words = await commandOf(file.pid)
  if (!words) return 'stale'
  const setting = words.find((word) => word.startsWith(`${INSTANCE_SETTING}=`))
  if (setting === `${INSTANCE_SETTING}=${instance}`) return undefined
  if (!setting && /^postgres/.test(basename(words[0] ?? ''))) throw inUse(directory.path, file.pid)
  const path = join(directory.cluster, 'postmaster.pid')
  await rm(path, { force: true }).catch((cause) => {
    throw fileTrouble('remove', path, cause)
  })
  return 'stale'
}
