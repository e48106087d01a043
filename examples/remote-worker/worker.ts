/**
 * A worker on another machine: it speaks HTTP to the nodes and needs no database.
 *
 *   npm start                                        (a node, in another terminal)
 *   npx node examples/remote-worker/worker.ts
 *
 * CARILLON_URL names the nodes (several: with commas), CARILLON_TOKEN a token with the scope `work`.
 */
import { createWorker, implementHandler } from '@carillon/sdk'
import { resize } from './handlers.ts'

const worker = createWorker({
  urls: (process.env.CARILLON_URL ?? 'http://127.0.0.1:7171').split(','),
  token: process.env.CARILLON_TOKEN,
  handlers: [
    implementHandler(
      resize,
      async ({ payload, heartbeat, signal }) => {
        for (let done = 0; done < payload.widths.length; done++) {
          signal.throwIfAborted() // cancelled, or out of time
          heartbeat({ done, of: payload.widths.length })
        }
        return { made: payload.widths.map((width) => `${payload.image}@${width}`) }
      },
      { concurrency: 20 },
    ),
  ],
})
await worker.start()
console.log('working; Ctrl-C lets what runs end, and leaves')
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void worker.stop({ drainSec: 30 }))
