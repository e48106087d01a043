/**
 * A worker over HTTP in a process of its own. Every run is appended to a file when it begins and when it ends, which
 * survives kill -9.
 */

import { openSync, writeSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'
import { silentLogger } from '@carillon/contract/process'
import { createWorker, defineHandler, implementHandler } from '@carillon/sdk'

export interface RemoteWorkerProcessOptions {
  urls: string[]
  runsFile: string
  slots: number
}

/** Runs for a time, letting others run meanwhile or not. */
export const spend = defineHandler<{ ms: number; blocking?: boolean; lines?: boolean }>({ name: 'spend' })

if (import.meta.main) await run(JSON.parse(process.argv[2]!) as RemoteWorkerProcessOptions)

async function run({ urls, runsFile, slots }: RemoteWorkerProcessOptions): Promise<void> {
  const runs = openSync(runsFile, 'a')
  const handler = implementHandler(
    spend,
    async ({ executionId, fence, payload, now, log, heartbeat }) => {
      writeSync(runs, `began ${executionId} ${fence} ${now().getTime()}\n`)
      if (payload.lines) talk(log, heartbeat)
      if (payload.blocking) block(payload.ms)
      else await after(payload.ms)
      writeSync(runs, `ended ${executionId} ${fence} ${now().getTime()}\n`)
    },
    { concurrency: slots },
  )
  const worker = createWorker({ urls, handlers: [handler], logger: silentLogger })
  process.on('message', () => process.send!(worker.health()))
  process.once('SIGTERM', () => void worker.stop({ drainSec: 5 }).then(() => process.exit(0)))
  await worker.start()
  process.send!('started')
}

/** Logs and reports progress until the process ends. */
function talk(log: (line: string) => void, heartbeat: (progress: unknown) => void): void {
  let number = 0
  setInterval(() => {
    log(`line ${number}`)
    heartbeat({ number: number++ })
  }, 50)
}

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}
