/** On what it was measured, and what was measured. */
import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { cpus, release, totalmem, type } from 'node:os'
import { promisify } from 'node:util'

export interface Machine {
  cpu: string
  cores: number
  memoryGb: number
  os: string
  node: string
  postgres: string
  /** Where PostgreSQL's data lay: on tmpfs no commit waits for a disk. */
  fileSystem: string
}

const run = promisify(execFile)
const fileSystems: Record<number, string> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  16914836: 'tmpfs',
  2035054128: 'overlayfs',
  801189825: 'zfs',
}

export async function describeMachine(postgres: string, folder: string): Promise<Machine> {
  const all = cpus()
  const kind = (await statfs(folder)).type
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    os: `${type()} ${release()}`,
    node: process.version,
    postgres,
    fileSystem: fileSystems[kind] ?? `0x${kind.toString(16)}`,
  }
}

/** The commit, with a plus if there is something that it does not hold. */
export async function describeCommit(): Promise<string> {
  const cwd = new URL('../../', import.meta.url)
  const git = (...words: string[]) => run('git', words, { cwd }).then(({ stdout }) => stdout.trim())
  try {
    const [commit, changes] = await Promise.all([git('rev-parse', 'HEAD'), git('status', '--porcelain')])
    return changes === '' ? commit : `${commit}+changes`
  } catch {
    return 'unknown'
  }
}
