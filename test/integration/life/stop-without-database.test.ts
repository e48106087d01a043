import { createCarillon, defineHandler } from '@carillon/server'
import { expect, it } from 'vitest'
import { quickTimes } from '../../support/carillon.ts'
import { startPostgres18 } from '../../support/postgres.ts'

const long = defineHandler<Record<string, never>>({ name: 'long' })

it('stops though the database is gone, with a handler under way', async () => {
  const postgres = await startPostgres18()
  const carillon = await createCarillon({ databaseUrl: postgres.url, logLevel: 'silent', ...quickTimes })
  const begun = Promise.withResolvers<void>()
  let reason: unknown
  carillon.handle(long, async (ctx) => {
    begun.resolve()
    await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
    reason = ctx.signal.reason.code
  })
  await carillon.start()
  await carillon.enqueue(long, {})
  await begun.promise
  await postgres.stop()
  await carillon.stop({ drainSec: 0 })
  expect(reason).toBe('SHUTDOWN')
  await expect(carillon.enqueue(long, {})).rejects.toThrow()
}, 60_000)
