/** Graphs and their runs on the command line, against a node that answers as the contract says. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Dag, DagRun, DagRunStep, DagRunSummary } from '@carillon/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { problem, ScriptedServer, type Seen } from '../../../packages/sdk/src/http/testing/scripted-server.ts'
import { carillon, startCarillon } from './cli.ts'

const server = new ScriptedServer()
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carillon-dags-'))
  await server.listen()
})
beforeEach(() => {
  server.seen.length = 0
})
afterAll(async () => {
  await server.die()
  await rm(folder, { recursive: true, force: true })
})

const at = () => ({ env: { CARILLON_URL: server.url } })
const runId = '01900000-0000-7000-8000-000000000001'
const dagId = '01900000-0000-7000-8000-000000000002'
const start = '2030-01-01T00:00:00.000Z'
const end = '2030-01-01T00:01:05.000Z'

const dag: Dag = {
  ...{ dagId, key: 'nightly', name: 'nightly', tenant: 'default', managedBy: null, labels: { team: 'bi' } },
  ...{ state: 'ACTIVE', version: 3, deadlineSec: 600, createdAt: start, updatedAt: start },
  steps: [
    { name: 'extract', target: { handler: 'extract' } },
    { name: 'load', target: { handler: 'load', pool: 'etl' }, dependsOn: ['extract'] },
    { name: 'tell', target: { handler: 'tell' }, dependsOn: ['load'], runIf: 'ALL_DONE', allowFailure: true },
  ],
}

function summary(more: Partial<DagRunSummary> = {}): DagRunSummary {
  return {
    ...{ runId, dagId, dagVersion: 3, name: 'nightly', tenant: 'default', labels: {}, state: 'RUNNING', paused: false },
    ...{ reason: null, stepCount: 3, doneCount: 1, failedCount: 0, createdAt: start, finishedAt: null },
    ...{ deadlineAt: null, traceId: null, startedBy: null, fanOut: false, ...more },
  }
}

function step(name: string, dependsOn: string[], more: Partial<DagRunStep> = {}): DagRunStep {
  const executionId = `01900000-0000-7000-8000-0000000000${name.length}0`
  return {
    ...{ name, executionId, handler: name, dependsOn, state: 'BLOCKED', reason: null, waitsFor: dependsOn.length },
    ...{ waitFor: null, attempt: 0, startedAt: null, finishedAt: null, error: null, run: null, ...more },
  }
}

const extracted = step('extract', [], {
  ...{ state: 'SUCCEEDED', attempt: 2, startedAt: start, finishedAt: '2030-01-01T00:00:05.000Z' },
})
const underWay: DagRun = {
  ...summary(),
  payload: { day: 'today' },
  steps: [
    extracted,
    step('load', ['extract'], { state: 'RUNNING', attempt: 1, startedAt: start, waitsFor: 0 }),
    step('tell', ['load']),
  ],
}
const error = { name: 'DiskFull', message: 'no \u001b[31mspace' }
const failed: DagRun = {
  ...summary({ state: 'FAILED', reason: 'STEP_FAILED', doneCount: 3, failedCount: 1, finishedAt: end }),
  payload: null,
  steps: [
    extracted,
    step('load', ['extract'], { state: 'DEAD', attempt: 4, startedAt: start, finishedAt: end, error }),
    step('tell', ['load'], { state: 'SKIPPED', reason: 'DEPENDENCY_FAILED', finishedAt: end }),
  ],
}

function answers(routes: Record<string, unknown>) {
  server.answer = ({ method, path }: Seen) => {
    const body = routes[`${method} ${path}`]
    return body === undefined ? problem(404, 'DAG_NOT_FOUND') : { body }
  }
}

const requests = () => server.seen.map(({ method, path, body }) => `${method} ${path} ${body}`.trim())

describe('carillon dags', () => {
  it('lists them, and shows one with its steps', async () => {
    answers({
      'GET /v1/dags?label=team%3Abi&limit=50': { items: [dag], nextCursor: null },
      'GET /v1/dags/nightly': dag,
    })
    const list = await carillon(['dags', 'list', '--label', 'team=bi'], at())
    expect(list).toMatchObject({ exitCode: 0 })
    expect(list.stdout).toMatch(/nightly +nightly +ACTIVE +3 +3/)
    const shown = await carillon(['dags', 'get', 'nightly'], at())
    expect(shown.stdout).toContain('team=bi')
    expect(shown.stdout).toMatch(/load +load @ etl +extract +ALL_SUCCEEDED +-/)
    expect(shown.stdout).toMatch(/tell +tell +load +ALL_DONE +yes/)
    expect((await carillon(['dags', 'get', 'nightly', '--json'], at())).json()).toEqual([dag])
    const none = await carillon(['dags', 'get', 'nobody'], at())
    expect(none).toMatchObject({ exitCode: 1, stdout: '' })
    expect(none.stderr).toContain('DAG_NOT_FOUND')
  })

  it('creates one from a file, and deletes it', async () => {
    answers({ 'POST /v1/dags': dag, 'DELETE /v1/dags/nightly': '' })
    const path = join(folder, 'nightly.yaml')
    await writeFile(path, 'key: nightly\nsteps:\n  - { name: extract, target: { handler: extract } }\n')
    const created = await carillon(['dags', 'create', '-f', path, '--idempotency-key', 'once'], at())
    expect(created).toMatchObject({ exitCode: 0 })
    expect(created.stderr).toContain('carillon dags run nightly --watch')
    const body = { key: 'nightly', steps: [{ name: 'extract', target: { handler: 'extract' } }] }
    expect(requests()).toEqual([`POST /v1/dags ${JSON.stringify(body)}`])
    expect(server.seen[0]!.headers['idempotency-key']).toBe('once')
    expect((await carillon(['dags', 'delete', 'nightly'], at())).stdout).toBe('Deleted nightly\n')
    const list = await carillon(['dags', 'create', '-f', '-'], { ...at(), input: '- a\n- b\n' })
    expect(list).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('- holds no graph') })
  })

  it('starts a run with a payload from the command line or a file', async () => {
    answers({ 'POST /v1/dags/nightly/runs': summary() })
    const flags = ['--payload', '{"day":"today"}', '--deadline-sec', '60', '--label', 'by=hand']
    const run = await carillon(['dags', 'run', 'nightly', ...flags], at())
    expect(run).toMatchObject({ exitCode: 0, stdout: `${runId}  RUNNING\n` })
    expect(run.stderr).toContain(`carillon dag-runs watch ${runId}`)
    const path = join(folder, 'payload.json')
    await writeFile(path, '[1]')
    const other = await carillon(['dags', 'run', 'nightly', '--payload', `@${path}`, '--json'], at())
    expect(other.json()).toEqual([summary()])
    expect(server.seen.map(({ body }) => JSON.parse(body))).toEqual([
      { payload: { day: 'today' }, labels: { by: 'hand' }, deadlineSec: 60 },
      { payload: [1] },
    ])
    for (const wrong of [
      ['--payload', '{'],
      ['--payload', '@/nonexistent'],
      ['--timeout', '3s'],
    ])
      expect(await carillon(['dags', 'run', 'nightly', ...wrong], at())).toMatchObject({ exitCode: 2, stdout: '' })
    expect(server.seen).toHaveLength(2)
  })
})

describe('carillon dag-runs', () => {
  it('lists runs of a graph', async () => {
    answers({ 'GET /v1/dag-runs?state=FAILED&dagId=nightly&limit=50': { items: [failed], nextCursor: null } })
    const { stdout } = await carillon(['dag-runs', 'list', '--dag', 'nightly', '--state', 'FAILED'], at())
    expect(stdout).toMatch(/nightly +FAILED +3\/3 +1 .+ 1 min 5 s +STEP_FAILED/)
  })

  it('shows each step below those it depends on, with what it waits for', async () => {
    answers({ [`GET /v1/dag-runs/${runId}`]: { ...underWay, paused: true } })
    const { stdout } = await carillon(['dag-runs', 'get', runId], at())
    expect(stdout).toContain('RUNNING, paused')
    expect(stdout).toMatch(/^✓ {2}extract +SUCCEEDED +2 +5\.0 s/m)
    expect(stdout).toMatch(/^● {4}load +RUNNING +1 /m)
    expect(stdout).toMatch(/^· {6}tell +BLOCKED +- +- +waits for load/m)
    expect((await carillon(['dag-runs', 'get', runId, '--json'], at())).json()).toMatchObject([{ runId, paused: true }])
  })

  it('shows why it failed, whatever the error says', async () => {
    answers({ [`GET /v1/dag-runs/${runId}`]: failed })
    const { exitCode, stdout } = await carillon(['dag-runs', 'get', runId], at())
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^✗ {4}load +DEAD +4 +1 min 5 s +DiskFull: no space/m)
    expect(stdout).toMatch(/^- {6}tell +SKIPPED +- +- +DEPENDENCY_FAILED/m)
  })

  it.each([
    ['cancel', { state: 'CANCELLED' }],
    ['pause', { paused: true }],
    ['resume', {}],
    ['retry', {}],
  ] as const)('%s', async (verb, then) => {
    answers({ [`POST /v1/dag-runs/${runId}/${verb}`]: summary(then) })
    const done = await carillon(['dag-runs', verb, runId], at())
    expect(done).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/(RUNNING|paused|CANCELLED) {2}1 of 3/) })
    expect((await carillon(['dag-runs', verb, runId, '--json'], at())).json()).toEqual([summary(then)])
  })

  it('starts one with steps of its own', async () => {
    answers({ 'POST /v1/dag-runs': summary({ dagId: null, dagVersion: null }) })
    const input = 'name: once\nsteps: [{ name: s, target: { handler: h } }]\n'
    const args = ['dag-runs', 'start', '-f', '-', '--payload', '1']
    expect(await carillon(args, { ...at(), input })).toMatchObject({ exitCode: 0 })
    const steps = [{ name: 's', target: { handler: 'h' } }]
    expect(JSON.parse(server.seen[0]!.body)).toEqual({ name: 'once', steps, payload: 1 })
  })
})

describe('watching a run', () => {
  function ends(as: DagRun, after = 2): void {
    let asked = 0
    server.answer = ({ method }) => {
      if (method === 'POST') return { body: summary() }
      return { body: ++asked > after ? as : underWay }
    }
  }

  it('tells what happens, then shows all: exit code 1 if it did not succeed', async () => {
    ends(failed)
    const { exitCode, stdout, stderr } = await carillon(['dags', 'run', 'nightly', '--watch'], at())
    expect(exitCode).toBe(1)
    expect(stderr).toContain('✗ load DEAD  1 min 5 s  DiskFull: no space\n- tell SKIPPED  DEPENDENCY_FAILED')
    expect(stdout).toMatch(/^state +FAILED/m)
    ends(failed)
    const json = await carillon(['dag-runs', 'watch', runId, '--json'], at())
    expect(json).toMatchObject({ exitCode: 1, stderr: '' })
    expect(json.json()).toEqual([failed])
  })

  it('0 if it did, 4 if it has not ended in time', async () => {
    ends({ ...failed, state: 'SUCCEEDED', reason: null })
    expect(await carillon(['dag-runs', 'watch', runId], at())).toMatchObject({ exitCode: 0 })
    ends(failed, 100)
    const late = await carillon(['dag-runs', 'watch', runId, '--timeout', '10ms'], at())
    expect(late).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('It has not ended in time.') })
  })

  it('Ctrl-C leaves it going on, and says how to stop it', async () => {
    ends(failed, 1_000)
    const watching = startCarillon(['dag-runs', 'watch', runId], at())
    await expect.poll(() => server.seen.length, { timeout: 20_000 }).toBeGreaterThan(0)
    process.kill(watching.child.pid!, 'SIGINT')
    const { exitCode, stderr } = await watching.ended
    expect(exitCode).toBe(130)
    expect(stderr).toContain(`carillon dag-runs cancel ${runId}`)
  })
})
