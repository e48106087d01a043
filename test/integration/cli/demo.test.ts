/** The demo, from outside: it shows executions ending, leaves nothing running, and finds its data again. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ask } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { type Started, startCarillon } from './cli.ts'

const data = join(mkdtempSync(join(tmpdir(), 'carillon-demo-')), 'data')
afterAll(() => rmSync(data, { recursive: true, force: true }))

describe('the demo', () => {
  it('runs, stops without a trace, and starts again on the same data', { timeout: 120_000 }, async () => {
    const first = await startDemo()
    const started = await jobs(first.url)
    expect(started.map(({ key }) => key)).toEqual(expect.arrayContaining(['flaky', 'heartbeat', 'import', 'nightly']))
    expect(first.output()).toContain(`Open ${first.url}: the dashboard`)
    expect((await ask(first.url, 'GET /')).body).toContain('<div id="root">')
    const [{ executionId }] = (await ask(first.url, 'GET /v1/executions?state=SUCCEEDED&limit=1')).body.items
    // As npm does: the terminal has told everybody already, and npm tells it again.
    await stopped(first, ['SIGINT', 'SIGINT'])

    const second = await startDemo()
    expect((await jobs(second.url)).map(({ jobId }) => jobId).sort()).toEqual(started.map(({ jobId }) => jobId).sort())
    expect((await ask(second.url, `GET /v1/executions/${executionId}`)).body.state).toBe('SUCCEEDED')
    await stopped(second, ['SIGTERM'])
  })
})

interface Demo extends Started {
  url: string
  postgresPid: number
}

async function startDemo(): Promise<Demo> {
  const started = startCarillon(['demo', '--data', data, '--port', '7600'])
  await until(() => /SUCCEEDED {2}heartbeat/.test(started.output()), 60_000).catch(() => {
    throw new Error(`no execution ended:\n${started.output()}`)
  })
  const url = /listens on (\S+),/.exec(started.output())![1]!
  const postgresPid = Number.parseInt(readFileSync(join(data, 'cluster', 'postmaster.pid'), 'utf8'), 10)
  return { ...started, url, postgresPid }
}

async function stopped(demo: Demo, signals: NodeJS.Signals[]): Promise<void> {
  const group = -demo.child.pid!
  for (const signal of signals) process.kill(group, signal)
  const { exitCode, stdout, stderr } = await demo.ended
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 })
  expect(stdout).toContain('Nothing is left running')
  expect(isAlive(group)).toBe(false)
  expect(isAlive(demo.postgresPid)).toBe(false)
  await expect(fetch(demo.url)).rejects.toThrow()
}

async function jobs(url: string): Promise<{ jobId: string; key: string }[]> {
  return (await ask(url, 'GET /v1/jobs')).body.items
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
