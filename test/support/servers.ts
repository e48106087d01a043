/**
 * Servers that npm does not bring. Where one cannot be started its tests are skipped, with the reason in their names; with
 * CARILLON_REQUIRE_SERVERS=1, as in CI, they fail instead.
 */
import { describe } from 'vitest'
import type { RunningServer } from '../../scripts/servers/process.ts'

/** Starts the server, or several, while the tests are collected; what is described ends it in an afterAll. */
export async function describeWith<Servers = RunningServer>(
  name: string,
  start: () => Promise<Servers>,
  described: (servers: Servers) => void,
): Promise<void> {
  let server: Servers
  try {
    server = await start()
  } catch (error) {
    if (process.env.CARILLON_REQUIRE_SERVERS === '1') throw error
    // Not here: the server is missing.
    describe.skip(`with ${name}: ${(error as Error).message}`, () => {})
    return
  }
  described(server)
}
