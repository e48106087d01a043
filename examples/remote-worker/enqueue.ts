/** A producer: submits work and waits for its result. Start the worker first: its pool comes into being with it. */
import { createClient } from '@carillon/sdk'
import { resize } from './handlers.ts'

await using client = createClient({
  urls: (process.env.CARILLON_URL ?? 'http://127.0.0.1:7171').split(','),
  token: process.env.CARILLON_TOKEN,
})
const handle = await client.enqueue(resize, { image: 'cat.png', widths: [100, 400] }, { priority: 'HIGH' })
console.log(await handle.result({ waitMs: 30_000 }))
