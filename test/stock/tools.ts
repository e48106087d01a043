/** Programs that scripts/install-client-tools installs. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const cache = join(import.meta.dirname, '../../.cache')
export const pythonTools = join(cache, 'python-tools/bin')
export const clientTools = join(cache, 'client-tools')

/** Runs a program to its end; what it printed is in the error if it fails. */
export async function run(
  program: string,
  args: string[],
  options: { cwd?: string; env?: object } = {},
): Promise<string> {
  if (program.startsWith('/') && !existsSync(program)) {
    throw new Error(`${program} is not there: run scripts/install-client-tools`)
  }
  const env = { ...process.env, ...options.env, PATH: `${pythonTools}:${process.env.PATH}` }
  const ended = promisify(execFile)(program, args, { ...options, env, maxBuffer: 64 * 1024 * 1024 })
  try {
    return (await ended).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${program} ${args.join(' ')}\n${stdout}\n${stderr}`)
  }
}
