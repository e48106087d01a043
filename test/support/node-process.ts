/** A node with a worker in a process of its own. Every run is appended to a file, which survives kill -9. */
import { openSync, writeSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
import { createCarillon, defineHandler, type EngineSettings } from '@carillon/server'

export interface NodeProcessOptions {
  databaseUrl: string
  runsFile: string
  settings: EngineSettings
}

/** What the parent may ask for: to block the main thread. */
export interface NodeProcessMessage {
  blockMs: number
}

/** Runs for a time, letting others run meanwhile or not. */
export const spend = defineHandler<{ ms: number; blocking?: boolean }>({ name: 'spend' })

if (import.meta.main) await run(JSON.parse(process.argv[2]!) as NodeProcessOptions)

async function run({ databaseUrl, runsFile, settings }: NodeProcessOptions): Promise<void> {
  const runs = openSync(runsFile, 'a')
  const carillon = await createCarillon({ databaseUrl, logLevel: 'fatal', targets: { http: false }, ...settings })
  carillon.handle(spend, { concurrency: 20 }, async (ctx) => {
    writeSync(runs, `${ctx.executionId} ${ctx.fence} ${ctx.attempt}\n`)
    if (ctx.payload.blocking) block(ctx.payload.ms)
    else await after(ctx.payload.ms)
    return `attempt ${ctx.attempt}`
  })
  process.on('message', ({ blockMs }: NodeProcessMessage) => block(blockMs))
  process.once('SIGTERM', () => void carillon.stop({ drainSec: 5 }).then(() => process.exit(0)))
  await carillon.start()
  process.send!('started')
}

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}
