import { statfs } from 'node:fs/promises'
import { CarillonError } from '@carillon/contract'

const LOW_DISK_BYTES = 64 * 1024 * 1024

/** The one error of this package: what went wrong, what to do about it, and what the server itself said last. */
export function unavailable(
  message: string,
  { hint, tail, cause }: { hint?: string; tail?: string; cause?: unknown } = {},
): CarillonError {
  const text = tail?.trim() ? `${message}\n--- last lines of its log ---\n${tail.trim()}\n---` : message
  return new CarillonError('EMBEDDED_UNAVAILABLE', { message: text, hint }, cause === undefined ? undefined : { cause })
}

/** Turns a refusal of the file system into an error that names the path and what to do. */
export function fileTrouble(action: string, path: string, cause: unknown): CarillonError {
  if (cause instanceof CarillonError) return cause
  const code = (cause as NodeJS.ErrnoException).code
  const hint =
    code === 'ENOSPC' || code === 'EDQUOT'
      ? 'the disk is full: free some space or choose another data directory'
      : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
        ? 'choose a data directory this user may write, or correct the owner of this one'
        : undefined
  return unavailable(`Cannot ${action} ${path}: ${cause instanceof Error ? cause.message : cause}`, { hint, cause })
}

/** A hint for a server or initdb that gave up: a full disk is the reason its own message shows least clearly. */
export async function hintFor(dataDir: string): Promise<string> {
  const space = await statfs(dataDir).catch(() => undefined)
  if (space && space.bavail * space.bsize < LOW_DISK_BYTES)
    return `the disk of ${dataDir} is full: free some space or choose another data directory`
  return `see the lines above; the data is in ${dataDir}`
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code
}
