/**
 * One Redis for a test file, started before its tests are collected. Where it cannot be started, the tests are skipped with the
 * reason in their name; with CARILLON_REQUIRE_SERVERS=1 the file fails.
 */
import { afterAll, describe } from 'vitest'
import { type RedisServer, startRedis } from '../../scripts/servers/redis.ts'

export interface TestRedis {
  /** Throws if there is none: use it in tests and hooks, not in the body of `describe`. */
  readonly server: RedisServer
  describe(name: string, body: () => void): void
}

export async function testRedis(): Promise<TestRedis> {
  let server: RedisServer | null = null
  let missing = ''
  afterAll(() => server?.stop())
  try {
    server = await startRedis()
  } catch (error) {
    if (process.env.CARILLON_REQUIRE_SERVERS === '1') throw error
    missing = (error as Error).message
  }
  return {
    get server() {
      if (server === null) throw new Error(missing)
      return server
    },
    describe(name, body) {
      if (server !== null) describe(name, body)
      else describe.skip(`${name} (skipped: ${missing})`, body) // The reason is in the name.
    },
  }
}

/** One command over a connection of its own, as an operator would type it. */
export async function redisCommand(server: RedisServer, ...args: string[]): Promise<unknown> {
  const { createClient } = await import('redis')
  const client = createClient({ url: server.url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await client.sendCommand(args)
  } finally {
    client.destroy()
  }
}
