/** The worker in examples/python-worker, as a process, against real nodes: what another language needs is in the protocol. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { type HttpNode, httpNode } from '../../support/http-node.ts'
import { until } from '../../support/until.ts'
import { Ledger } from './hand-worker.ts'

const folder = fileURLToPath(new URL('../../../examples/python-worker', import.meta.url))
const script = fileURLToPath(new URL('./python-handlers.py', import.meta.url))
const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']).status === 0

interface Line {
  what: string
  at: number
  executionId: string
  fence: number
  attempt: number
}

class PythonWorker {
  readonly child: ChildProcess
  readonly lines: Line[] = []

  constructor(urls: string[], env: Record<string, string> = {}) {
    const all = {
      ...process.env,
      CARILLON_URL: urls.join(','),
      WORKER_FOLDER: folder,
      ...env,
      PYTHONDONTWRITEBYTECODE: '1',
    }
    this.child = spawn('python3', [script], { env: all, stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface(this.child.stdout!).on('line', (line) => this.lines.push(JSON.parse(line)))
  }

  said(what: string, executionId?: string): Line[] {
    return this.lines.filter((line) => line.what === what && (!executionId || line.executionId === executionId))
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'exit')
    this.child.kill(signal)
    await gone
  }
}

// Python is not part of what Carillon needs: where it is missing, its example cannot be tried.
describe.skipIf(!hasPython)('the worker in Python', () => {
  let node: HttpNode
  let ledger: Ledger
  const workers: PythonWorker[] = []

  beforeAll(async () => {
    node = await httpNode({ engine: quickTimes })
    ledger = new Ledger(node)
  })
  afterEach(async () => {
    await Promise.all(workers.splice(0).map((worker) => worker.end('SIGKILL')))
  })
  afterAll(async () => {
    await ledger[Symbol.asyncDispose]()
    await node[Symbol.asyncDispose]()
  })

  function start(env?: Record<string, string>, urls = [node.url]): PythonWorker {
    const worker = new PythonWorker(urls, env)
    workers.push(worker)
    return worker
  }
  async function submit(handler: string, payload: object = {}, more: object = {}): Promise<string> {
    const job = { type: 'ONE_SHOT', name: handler, target: { handler }, payload, ...more }
    const { status, body } = await node.ask('POST /v1/jobs', job)
    expect(status, JSON.stringify(body)).toBe(201)
    return body.jobId
  }
  async function ended(executionId: string) {
    const { body } = await node.ask(`GET /v1/executions/${executionId}?waitSec=20`)
    return body
  }

  it('runs what it has a handler for, at a node that is there, and says how it went', async () => {
    const worker = start({}, ['http://127.0.0.1:1', node.url])
    const [hello, bad] = [
      await submit('greet', { name: 'Ada' }),
      await submit('broken', {}, { retryPolicy: { maxAttempts: 1 } }),
    ]
    expect(await ended(hello)).toMatchObject({ state: 'SUCCEEDED', result: 'Hello Ada', attempt: 1 })
    expect(await ended(bad)).toMatchObject({ state: 'DEAD', error: { name: 'KeyError', message: "'no such key'" } })
    const once = await submit('nap', { sec: 0 }, { delivery: 'AT_MOST_ONCE' })
    expect(await ended(once)).toMatchObject({ state: 'SUCCEEDED', result: 1 })
    await worker.end('SIGTERM')
    expect(worker.said('left')).toHaveLength(1)
  })

  it('beats: a handler longer than the time to be lost keeps its lease, and its progress is seen', async () => {
    start()
    const nap = await submit('nap', { sec: (2.5 * quickTimes.workerLostMs) / 1_000 })
    const counting = await submit('count', { to: 20, everySec: 0.1 })
    await until(async () => {
      const { body } = await node.ask(`GET /v1/executions/${counting}`)
      return body.progress > 3
    })
    expect(await ended(counting)).toMatchObject({ state: 'SUCCEEDED', result: 20, attempt: 1 })
    expect(await ended(nap)).toMatchObject({ state: 'SUCCEEDED', result: 1, attempt: 1 })
  })

  it('hears of a cancel at once, also with all its slots busy', async () => {
    const worker = start({ CONCURRENCY: '5' })
    const delays: number[] = []
    for (let round = 0; round < 4; round++) {
      const ids = await Promise.all([1, 2, 3, 4, 5].map(() => submit('patient', {}, { cancelGraceSec: 60 })))
      await until(() => ids.every((id) => worker.said('began', id).length === 1))
      for (const id of ids) {
        const { body } = await node.ask(`POST /v1/executions/${id}/cancel`)
        const answered = Date.now()
        expect(body.outcome).toBe('CANCELLING')
        await until(() => worker.said('stopped', id).length === 1)
        delays.push(worker.said('stopped', id)[0]!.at - answered)
      }
      for (const id of ids) expect(await ended(id)).toMatchObject({ state: 'CANCELLED' })
    }
    delays.sort((a, b) => a - b)
    const shown = (share: number) => delays[Math.ceil(share * delays.length) - 1]!.toFixed(1)
    console.log(`cancel to handler over ${delays.length}: p50 ${shown(0.5)} ms, p99 ${shown(0.99)} ms`)
    expect(delays.at(-1)).toBeLessThan(5_000)
  })

  it('killed in the middle, its execution is tried again by another', async () => {
    const first = start()
    const id = await submit('nap', { sec: 1.5 }, { retryPolicy: { backoff: 'FIXED', initialDelayMs: 10, jitter: 0 } })
    await until(() => first.said('began', id).length === 1)
    await first.end('SIGKILL')
    const second = start()
    expect(await ended(id)).toMatchObject({ state: 'SUCCEEDED', result: 2, attempt: 2, maxAttempts: 4 })
    expect(second.said('began', id)[0]!.fence).toBeGreaterThan(first.said('began', id)[0]!.fence)
  })

  it('frozen, it is given nothing; thawed, it is back at work', async () => {
    const first = start()
    const isLive = async () => {
      const { body } = await node.ask('GET /v1/workers?pool=default&state=LIVE')
      return body.items.some(({ name }: { name: string }) => name.endsWith(`-${first.child.pid}`)) as boolean
    }
    await until(isLive)
    first.child.kill('SIGSTOP')
    await until(async () => !(await isLive()))
    // The list is read from the database: the node itself looks now and then.
    const ids: string[] = []
    for (let n = 0; n < 10; n++) ids.push(await submit('nap', { sec: 0 }, { retryPolicy: { initialDelayMs: 10 } }))
    start()
    for (const id of ids) expect(await ended(id)).toMatchObject({ state: 'SUCCEEDED' })
    expect(await ended(await submit('greet', { name: 'B' }))).toMatchObject({ state: 'SUCCEEDED', attempt: 1 })
    first.child.kill('SIGCONT')
    await until(isLive)
  })

  it('told to stop when its node is gone, it leaves all the same', async () => {
    let worker: PythonWorker
    {
      await using other = await httpNode({ engine: quickTimes })
      worker = start({}, [other.url])
      await until(async () => {
        const { body } = await other.ask('GET /v1/workers?pool=default&state=LIVE')
        return body.items.length === 1
      })
    }
    await worker.end('SIGTERM')
    expect(worker.said('left')).toHaveLength(1)
  })

  it('told to stop, it finishes what it can and hands back the rest, no attempt used', async () => {
    const first = start({ DRAIN_SEC: '0.5' })
    const long = await submit('patient', {}, { cancelGraceSec: 60 })
    const short = await submit('nap', { sec: 0.2 })
    await until(() => [long, short].every((id) => first.said('began', id).length === 1))
    await first.end('SIGTERM')
    expect([first.said('left').length, first.said('stopped', long).length]).toEqual([1, 1])
    expect(await ended(short)).toMatchObject({ state: 'SUCCEEDED' })
    expect(await ledger.execution(long)).toMatchObject({ state: null, attempt: 0, releases: 1 })
    const second = start()
    await until(() => second.said('began', long).length === 1)
    expect(second.said('began', long)[0]!.attempt).toBe(1)
    await node.ask(`POST /v1/executions/${long}/cancel`)
    expect(await ended(long)).toMatchObject({ state: 'CANCELLED' })
  })
})
