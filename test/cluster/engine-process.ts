/** One engine in a process of its own: a node with a worker. Every run is appended to a file, which survives kill -9. */
import { openSync, writeSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
import { createCarillon, defineHandler, type EngineSettings } from '@carillon/server'

export interface EngineProcessOptions {
  databaseUrl: string
  runsFile: string
  settings: EngineSettings
  /** Every n-th run takes this long; the others are over at once. */
  slowEvery: number
  slowMs: number
}

const options = JSON.parse(process.argv[2]!) as EngineProcessOptions
const runs = openSync(options.runsFile, 'a')
let count = 0

const beat = defineHandler<{ job: number }>({ name: 'beat' })
const carillon = await createCarillon({ databaseUrl: options.databaseUrl, logLevel: 'error', ...options.settings })
carillon.handle(beat, { concurrency: 200 }, async (ctx) => {
  writeSync(runs, `${ctx.executionId} ${ctx.fence} ${ctx.attempt}\n`)
  if (++count % options.slowEvery === 0) await after(options.slowMs)
})
await carillon.start()
process.send!('started')
process.once('SIGTERM', () => {
  void carillon.stop({ drainSec: 5 }).then(() => process.exit(0))
})
