/** Nothing stays behind: no process, no timer, no connection, no database. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { defineHandler } from '@carillon/server'
import { implementHandler } from '@carillon/server/testing'
import pg from 'pg'
import { expect, inject, it } from 'vitest'
import { until } from '../../support/until.ts'
import { testCarillonAt } from './test-carillon.test-support.ts'

const program = join(import.meta.dirname, 'ending-process.ts')

async function databasesLike(pattern: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  const { rows } = await client.query('select datname from pg_database where datname like $1', [pattern])
  await client.end()
  return rows.map(({ datname }) => datname)
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

it('its database is gone, also while a handler waits and another does not stop', async () => {
  const wait = defineHandler({ name: 'wait' })
  const hang = defineHandler({ name: 'hang' })
  const carillon = await testCarillonAt('2026-01-01T00:00:00Z', {
    handlers: [
      implementHandler(wait, (ctx) => new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject()))),
      implementHandler(hang, (ctx) => new Promise(() => ctx.signal)),
    ],
  })
  const [, name] = /\/(carillon_test_\w+)$/.exec(carillon.databaseUrl)!
  await carillon.enqueue(wait, null)
  const handle = await carillon.enqueue(hang, null)
  await carillon.drain()
  const result = expect(handle.result()).rejects.toThrow(/has not ended/)
  expect(await databasesLike(name!)).toEqual([name])
  await carillon.close()
  await result
  expect(await databasesLike(name!)).toEqual([])
})

it('a process that used one ends by itself, and so does its PostgreSQL', async () => {
  const child: ChildProcess = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, errors, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'exit')])
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const { runs, server } = JSON.parse(out) as { runs: number; server: number }
  expect(runs).toBe(24)
  await until(() => !isRunning(server))
}, 60_000)
