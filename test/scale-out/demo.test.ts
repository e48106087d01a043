/** `npm run demo -- --scale-out`, from outside: every server is used, and whatever ends it, nothing of it is left running. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { scaleOutNames, startScaleOut } from '../../scripts/servers/scale-out.ts'
import { ask } from '../support/http-node.ts'
import { describeWith } from '../support/servers.ts'
import { until } from '../support/until.ts'

const program = fileURLToPath(new URL('../../scripts/demo.ts', import.meta.url))
const timeout = 120_000

/** Whether they can be started at all. */
async function tried(): Promise<void> {
  await using _servers = await startScaleOut()
}

await describeWith('the servers of scale-out', tried, () => {
  const folder = mkdtempSync(join(tmpdir(), 'carillon-demo-scale-out-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** Its servers have their folders in one of the test's own. */
  function start(name: string, env: NodeJS.ProcessEnv = {}) {
    const own = join(folder, name)
    mkdirSync(own)
    const args = [program, '--scale-out', '--data', join(folder, 'data'), '--port', '7640']
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: '1', TMPDIR: own, ...env },
      detached: true,
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    const ended = once(child, 'close').then(([exitCode]) => exitCode as number)
    const signal = (name: NodeJS.Signals) => void process.kill(-child.pid!, name)
    return {
      ...{ own, ended, output: () => output, signal },
      async [Symbol.asyncDispose]() {
        if (child.exitCode === null && child.signalCode === null) signal('SIGTERM')
        await ended
      },
    }
  }

  function expectNothingLeft(own: string): void {
    expect(processesIn(own)).toEqual([])
    expect(readdirSync(own).filter((name) => /redis|etcd|kafka/.test(name))).toEqual([])
  }

  describe('the demo on all servers', () => {
    it('runs with each of them, and goes on when all are killed', { timeout }, async () => {
      await using demo = start('whole')
      const ends = () => demo.output().match(/SUCCEEDED {2}heartbeat/g)?.length ?? 0
      await until(() => ends() > 0, 90_000).catch(() => {
        throw new Error(`no execution ended:\n${demo.output()}`)
      })
      for (const name of scaleOutNames) expect(demo.output()).toMatch(new RegExp(`${name} +${name}://127.0.0.1:\\d+`))
      const url = /listens on (\S+),/.exec(demo.output())![1]!
      const { body } = await ask(url, 'GET /metrics')
      for (const name of scaleOutNames) expect(body).toContain(`carillon_server_away{server="${name}"} 0`)
      const pids = [...demo.output().matchAll(/process (\d+)/g)].map(([, pid]) => Number(pid))
      expect(pids).toHaveLength(scaleOutNames.length)
      for (const pid of pids) process.kill(pid, 'SIGKILL')
      const seen = ends()
      await until(() => ends() >= seen + 3, 30_000)
      demo.signal('SIGINT')
      expect(await demo.ended).toBe(0)
      expect(demo.output()).toContain('Nothing is left running')
      expectNothingLeft(demo.own)
    })

    it.each([['SIGINT'], ['SIGTERM']] as const)('ends at %s, running or not yet', { timeout }, async (signal) => {
      await using early = start(`${signal}-early`)
      await until(() => processesIn(early.own).length > 0)
      early.signal(signal)
      expect(await early.ended).toBe(130)
      expectNothingLeft(early.own)
      await using running = start(`${signal}-running`)
      await until(() => running.output().includes('Ctrl-C stops everything'), 90_000)
      expect(processesIn(running.own).length).toBeGreaterThanOrEqual(scaleOutNames.length)
      running.signal(signal)
      expect(await running.ended).toBe(0)
      expectNothingLeft(running.own)
    })

    it('says what to install if a program is missing, and leaves nothing running', { timeout }, async () => {
      const programs = join(folder, 'programs')
      mkdirSync(programs)
      for (const name of ['etcd', 'java']) {
        const found = process.env.PATH!.split(delimiter).find((each) => existsSync(join(each, name)))
        symlinkSync(join(found!, name), join(programs, name))
      }
      await using demo = start('missing', { PATH: `${programs}${delimiter}${dirname(process.execPath)}` })
      expect(await demo.ended).toBe(1)
      expect(demo.output()).toMatch(/redis is not installed: apt-get install .*redis-server/)
      expectNothingLeft(demo.own)
    })
  })
})

/** Those that work in a folder in it, or were told of one. */
function processesIn(folder: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const found = pids.map((pid) => `${at(() => readlinkSync(`/proc/${pid}/cwd`))} ${at(() => commandOf(pid))}`)
  return found.filter((each) => each.includes(`${folder}/`))
}

function commandOf(pid: string): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
}

/** It may have ended meanwhile. */
function at(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
