/**
 * What can be known about a process from its number. A number alone proves nothing: after a crash, and above all in a
 * restarted container, the same number belongs to another process. So a process is remembered by number *and* birth, and
 * a server is recognised by its command line.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Tells apart two processes that had the same number; undefined when no such process lives. */
export async function birthOf(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return psField(pid, 'lstart')
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name in brackets may hold anything, so count from the last bracket: state is first, start time twentieth.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
    return `${boot.trim()}:${fields[19]}`
  } catch {
    return undefined
  }
}

/** The words of the command line; undefined when no such process lives. */
export async function commandOf(pid: number): Promise<string[] | undefined> {
  if ((await birthOf(pid)) === undefined) return undefined
  if (process.platform !== 'linux') return (await psField(pid, 'args'))?.split(' ')
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
  } catch {
    return undefined
  }
}

async function psField(pid: number, field: string): Promise<string | undefined> {
  try {
    const { stdout } = await run('/bin/ps', ['-o', `${field}=`, '-p', String(pid)], { env: { LC_ALL: 'C' } })
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}
