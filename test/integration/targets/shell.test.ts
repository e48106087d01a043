/** Shell targets: real programs, and nothing of them left when the attempt is over. */
import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../support/until.ts'
import { openStage, type Stage } from './stage.ts'

let home: string
let stage: Stage

const programs: Record<string, string> = {
  show: 'cat; echo; printf "%s|" "$@"; echo; env | sort; pwd; echo to-stderr >&2',
  answer: 'echo working; echo \'{"rows":3}\'',
  fail: 'echo "it is broken" >&2; exit 3',
  kill: 'kill -9 $$',
  deaf: 'exec <&-; exit 0',
  flood: 'yes "a long line of output that nobody needs" | head -c 30000000; echo the end',
  // Ignores SIGTERM, and so does a grandchild in the background.
  stubborn: `trap '' TERM
    (trap '' TERM; while :; do sleep 1; done) &
    echo $! > "$1"; echo $$ >> "$1"
    while :; do sleep 1; done`,
  orphan: 'sleep 3600 & echo $! > "$1"',
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-shell-'))
  const shell: Record<string, string> = {}
  for (const [name, script] of Object.entries(programs)) {
    shell[name] = join(home, name)
    await writeFile(shell[name], `#!/bin/sh\n${script}\n`)
    await chmod(shell[name], 0o755)
  }
  shell.vanishing = join(home, 'vanishing')
  await writeFile(shell.vanishing, '#!/bin/sh\n')
  await chmod(shell.vanishing, 0o755)
  stage = await openStage({ shell, http: false })
  await rm(shell.vanishing)
})
afterAll(async () => {
  await stage[Symbol.asyncDispose]()
  await rm(home, { recursive: true })
})

const once = { retryPolicy: { maxAttempts: 1 } }
const pidsIn = async (file: string) => (await readFile(file, 'utf8')).split('\n').filter(Boolean).map(Number)

/** One that is dead but not yet taken off the list by its parent lives no more. */
function lives(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', `${pid}`], { encoding: 'utf8' })
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z')
}

describe('a program', () => {
  it('gets the payload, its arguments as they are, and little else', async () => {
    const args = ['$HOME', '; rm -rf /', '`id`', '', 'a b']
    const id = await stage.submit({ shell: { command: 'show', args } }, {}, { a: 'ü' })
    const { result, fence } = await stage.reaches(id, 'SUCCEEDED')
    const { exitCode, stdout, value } = JSON.parse(result!)
    const lines = stdout.split('\n')
    expect([exitCode, value, lines[0], lines[2]]).toEqual([0, undefined, '{"a":"ü"}', '$HOME|; rm -rf /|`id`||a b|'])
    const names = lines.filter((line: string) => /^\w+=/.test(line)).map((line: string) => line.split('=')[0])
    const ours = ['ATTEMPT', 'EXECUTION_ID', 'FENCE', 'JOB_ID', 'SCHEDULED_FOR', 'TENANT'].map(
      (name) => `CARILLON_${name}`,
    )
    // The shell itself adds PWD and the like.
    expect(names.filter((name: string) => !/^(PATH|LANG|TZ|PWD|OLDPWD|SHLVL|_)$/.test(name))).toEqual(ours)
    expect(stdout).toContain(`CARILLON_FENCE=${fence}\n`)
    expect(await stage.logs(id)).toContain('to-stderr')
  })

  it('may end with a line of JSON', async () => {
    const id = await stage.submit({ shell: { command: 'answer' } })
    const { result } = await stage.reaches(id, 'SUCCEEDED')
    expect(JSON.parse(result!)).toEqual({ exitCode: 0, stdout: 'working\n{"rows":3}\n', value: { rows: 3 } })
  })

  it('need not read its input', async () => {
    const id = await stage.submit({ shell: { command: 'deaf' } }, {}, 'x'.repeat(200_000))
    await stage.reaches(id, 'SUCCEEDED')
  })

  it.each([
    ['fail', 'fail ended with exit code 3: it is broken'],
    ['kill', 'kill was ended by SIGKILL'],
    ['vanishing', 'vanishing could not be started (ENOENT)'],
  ])('that does not end well: %s', async (command, message) => {
    const id = await stage.submit({ shell: { command } }, once)
    expect(await stage.reaches(id, 'DEAD')).toMatchObject({ error: { name: 'ProgramFailed', message } })
  })

  it('may flood us: the beginning and the end of it are kept', async () => {
    const id = await stage.submit({ shell: { command: 'flood' } })
    const { result } = await stage.reaches(id, 'SUCCEEDED')
    expect(result!.length).toBeLessThan(64 * 1024)
    expect(JSON.parse(result!).stdout).toMatch(/the end\n$/)
    const lines = await stage.logs(id)
    expect(lines[0]).toBe('a long line of output that nobody needs')
    expect(lines.filter((line) => /^\[\d+ bytes here are not kept\]$/.test(line))).toHaveLength(1)
    expect(lines.at(-1)).toBe('the end')
  })

  it('that ignores SIGTERM is killed with all its children before its successor could start', async () => {
    const file = join(home, 'stubborn.pids')
    const target = { shell: { command: 'stubborn', args: [file] } }
    const id = await stage.submit(target, { cancelGraceSec: 2 })
    await until(() =>
      pidsIn(file)
        .then((pids) => pids.length === 2)
        .catch(() => false),
    )
    const pids = await pidsIn(file)
    expect(pids.map(lives)).toEqual([true, true])
    await stage.engine.executions.cancel('acme', id, { reason: 'CANCELLED', actor: 'a person' })
    await stage.reaches(id, 'CANCELLED')
    expect(pids.map(lives)).toEqual([false, false])
  })

  it('that takes too long is stopped', async () => {
    const file = join(home, 'slow.pids')
    const target = { shell: { command: 'stubborn', args: [file] } }
    const id = await stage.submit(target, { timeoutSec: 1, cancelGraceSec: 1, ...once })
    expect(await stage.reaches(id, 'DEAD')).toMatchObject({ error: { name: 'TimedOut' } })
    await until(async () => (await pidsIn(file)).every((pid) => !lives(pid)))
  })

  it('leaves nothing behind that runs in the background', async () => {
    const file = join(home, 'orphan.pids')
    const id = await stage.submit({ shell: { command: 'orphan', args: [file] } })
    await stage.reaches(id, 'SUCCEEDED')
    const [pid] = await pidsIn(file)
    await until(() => !lives(pid!))
  })
})

it('what is not on the list is refused', async () => {
  const refused = stage.submit({ shell: { command: '/bin/sh', args: ['-c', 'id'] } })
  await expect(refused).rejects.toMatchObject({
    code: 'TARGET_NOT_ALLOWED',
    errors: [{ pointer: '/target/shell/command' }],
  })
  await expect(stage.submit({ http: { url: 'https://example.com/' } })).rejects.toMatchObject({
    code: 'TARGET_NOT_ALLOWED',
    errors: [{ pointer: '/target/http' }],
  })
})
