/**
 * Ten thousand workers that wait and get nothing, on one node: it must go on serving others, hand new work to one of those
 * that wait, and take back the room when they leave.
 *
 *   npm run cluster:polls -- [--polls 10000]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { serve } from '@carillon/server'
import { until } from '../support/until.ts'

const { values } = parseArgs({ options: { polls: { type: 'string', default: '10000' }, serve: { type: 'string' } } })
const polls = Number(values.polls)

if (values.serve) await runNode(values.serve)
else await main()

async function runNode(dataDir: string): Promise<void> {
  const node = await serve({ dataDir, port: 0, logLevel: 'error' })
  process.once('SIGTERM', () => void node.stop().then(() => process.exit(0)))
  process.send!(node.url)
}

async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'carillon-polls-'))
  const child = spawn(process.execPath, [import.meta.filename, '--serve', dataDir], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  try {
    const [url] = (await once(child, 'message')) as [string]
    await measure(new URL(url), child.pid!)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function measure(url: URL, pid: number): Promise<void> {
  const ask = async (path: string, body?: object) => {
    const began = performance.now()
    const json = { 'content-type': 'application/json' }
    const post = body && { method: 'POST', headers: json, body: JSON.stringify(body) }
    const answer = await fetch(new URL(path, url), post)
    return { status: answer.status, body: (await answer.json()) as { workerId: string }, ms: performance.now() - began }
  }
  const before = await memoryMiB(pid)
  const workerIds: string[] = []
  for (let at = 0; at < polls; at += 100) {
    const batch = Array.from({ length: Math.min(100, polls - at) }, async (_, i) => {
      const pools = [{ pool: 'idle', handlers: ['nothing'], slots: 1 }]
      return (await ask('/v1/workers', { name: `idle ${at + i}`, pools })).body.workerId
    })
    workerIds.push(...(await Promise.all(batch)))
  }
  console.log(`${workerIds.length} workers registered`)

  const answers: string[] = []
  const sockets: Socket[] = []
  for (let at = 0; at < polls; at += 200) {
    sockets.push(...(await Promise.all(workerIds.slice(at, at + 200).map((id) => openPoll(url, id, answers)))))
  }
  const waiting = await memoryMiB(pid)
  const idle = await latencies(() => ask('/readyz'))
  console.log(`${sockets.length} long polls open: ${waiting} MiB (${before} MiB before)`)
  console.log(`GET /readyz meanwhile: p50 ${idle.p50} ms, p99 ${idle.p99} ms`)

  // A worker that was not heard of for 15 s gets nothing: some of them say that they live.
  await Promise.all(workerIds.slice(-200).map((id) => ask(`/v1/workers/${id}/report`, { held: [] })))
  const job = { type: 'ONE_SHOT', target: { pool: 'idle', handler: 'nothing' } }
  const submitted = await latencies(() => ask('/v1/jobs', job))
  await until(() => answers.length >= 100)
  console.log(
    `100 submissions: p50 ${submitted.p50} ms, p99 ${submitted.p99} ms; ${answers.length} of those waiting got one`,
  )

  for (const socket of sockets) socket.destroy()
  const after = await latencies(() => ask('/readyz'))
  console.log(`all gone: GET /readyz p50 ${after.p50} ms, p99 ${after.p99} ms, ${await memoryMiB(pid)} MiB`)
}

/** A request written by hand: ten thousand of them must not cost this side much. */
async function openPoll(url: URL, workerId: string, answers: string[]): Promise<Socket> {
  const body = JSON.stringify({ pool: 'idle', slots: 1, waitMs: 60_000 })
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => {})
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    if (text.includes('"executionId"')) answers.push(text)
  })
  await once(socket, 'connect')
  socket.write(
    `POST /v1/workers/${workerId}/lease HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  return socket
}

async function latencies(
  request: () => Promise<{ status: number; ms: number }>,
): Promise<{ p50: string; p99: string }> {
  const times: number[] = []
  for (let i = 0; i < 100; i++) {
    const { status, ms } = await request()
    if (status >= 300) throw new Error(`answered ${status}`)
    times.push(ms)
  }
  times.sort((a, b) => a - b)
  return { p50: times[50]!.toFixed(1), p99: times[98]!.toFixed(1) }
}

async function memoryMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024)
}
