/** Scenario `scale-out` of the benchmark: tiny forms of its parts go through with real servers, and nothing is left behind. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { ScaleOutServers } from '../../bench/ground/scale-out-servers.ts'
import { describeWith } from '../support/servers.ts'

const run = promisify(execFile)
const main = fileURLToPath(new URL('../../bench/main.ts', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'carillon-test-'))
afterAll(() => rm(folder, { recursive: true }))

interface Told {
  name: string
  value: number
  ok: boolean | null
  detail?: Record<string, number | string>
}

/** A target that is missed is no failure: tiny forms prove nothing about speed. */
async function measure(...words: string[]): Promise<Told[]> {
  const env = { ...process.env, TMPDIR: folder }
  const args = [main, 'scale-out', '--quick', '--json', '--scale', '0.2', ...words]
  const { stdout } = await run(process.execPath, args, { env }).catch((error) => {
    if (error.code === 1) return error as { stdout: string }
    throw error
  })
  expect(await readdir(folder)).toEqual([])
  return JSON.parse(stdout.trim().split('\n').at(-1)!).results
}

/** They start, and end again: the benchmark has its own. */
async function tryServers() {
  const place = await mkdtemp(join(tmpdir(), 'carillon-test-'))
  const servers = new ScaleOutServers(place)
  try {
    await servers.start()
  } finally {
    await servers.stop()
    await rm(place, { recursive: true })
  }
}

await describeWith('Redis, etcd and Kafka', tryServers, () => {
  it('tells what executions cost PostgreSQL on both sides, with CPU by server', { timeout: 480_000 }, async () => {
    const results = await measure('--part', 'cost')
    expect(results.map(({ name }) => name)).toEqual(
      [200, 950].flatMap((rate) => [
        `scale-out PostgreSQL CPU at ${rate}/s, all four / PostgreSQL alone`,
        `scale-out load reached at ${rate}/s`,
        `scale-out PostgreSQL CPU at ${rate}/s, PostgreSQL alone`,
        `scale-out PostgreSQL CPU at ${rate}/s, all four`,
      ]),
    )
    const [alone, four] = results.slice(-2) as [Told, Told]
    expect(alone.detail).toMatchObject({ workers: 40, 'published to Kafka': 0, fallbacks: 0 })
    expect(four.detail!.workers).toBe(40)
    expect(four.detail!['published to Kafka']).toBeGreaterThan(0)
    for (const server of ['postgres', 'redis', 'etcd', 'kafka', 'node', 'worker', 'generator']) {
      expect(four.detail).toHaveProperty([`cpu ${server} %`], expect.any(Number))
    }
  })

  it('kills nodes of both sides, and nothing is missing or doubled', { timeout: 480_000 }, async () => {
    const results = await measure('--part', 'failover')
    expect(results.at(-1)).toMatchObject({ name: 'scale-out failover missing or doubled', value: 0, ok: true })
    expect(results.map(({ value }) => value).slice(0, 3)).toEqual(Array(3).fill(expect.any(Number)))
  })

  it('tells whole lives and pick-ups, handed over and queued', { timeout: 480_000 }, async () => {
    const lives = await measure('--part', 'life')
    expect(lives.map(({ name }) => name)).toEqual(['scale-out life, PostgreSQL alone', 'scale-out life, all four'])
    const pickups = await measure('--part', 'pickup')
    const published = pickups.map(({ detail }) => Number(detail!['published to Kafka']))
    // Handed over is what asks for no message; of what was queued, only the side with the queue in Kafka publishes.
    expect(pickups.map(({ name }) => name.replace('scale-out pickup p50 ', ''))).toEqual(
      ['handed over', 'queued'].flatMap((way) => [
        `${way}, PostgreSQL alone`,
        `${way}, all four`,
        `${way}, all but the queue`,
      ]),
    )
    expect([published[3], published[5]]).toEqual([0, 0])
    expect(published[4]).toBeGreaterThan(0)
  })
})

it('says which parts there are', async () => {
  const failed = await measure('--part', 'everything').catch((error: { code: number; stderr: string }) => error)
  expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining('cost, life, failover, pickup') })
})
